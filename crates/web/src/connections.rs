//! Limits on open connections ([`Connections`]). At the limit, an idle connection is closed for the new one.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The open connections of a server, with the limits on them.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    most_of_client: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// Number of the next connection. Numbers ascend, so the lowest belongs to the oldest connection.
    next: u64,
    by_number: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    client: Option<IpAddr>,
    phase: Phase,
    close: Arc<Notify>,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// No complete request has arrived yet.
    New,
    /// A request is being processed.
    Busy,
    /// The last request was answered; part of the answer may still have to be sent.
    Answered,
    /// The connection was asked to close.
    Closing,
}

/// The slot of an open connection, freed on drop.
#[derive(Debug)]
pub struct ConnectionSlot {
    connections: Arc<Connections>,
    number: u64,
    client: Option<IpAddr>,
    close: Arc<Notify>,
}

impl Connections {
    /// Creates limits of `most` connections in total, and `most_of_client` for each client.
    pub fn new(most: usize, most_of_client: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_client, open: Mutex::default() })
    }

    /// Reserves a slot for a new connection; `None` if too many are busy. Without `client`, only the total is limited.
    pub fn admit(self: &Arc<Self>, client: Option<IpAddr>) -> Option<ConnectionSlot> {
        let mut open = self.open();
        let is_of_client = |one: &Connection| client.is_some() && one.client == client;
        open.make_room(self.most_of_client, is_of_client)?;
        open.make_room(self.most, |_| true)?;
        let (number, close) = (open.next, Arc::new(Notify::new()));
        open.next += 1;
        open.by_number.insert(number, Connection { client, phase: Phase::New, close: Arc::clone(&close) });
        Some(ConnectionSlot { connections: Arc::clone(self), number, client, close })
    }

    /// Closes the oldest idle connection, if there is one.
    pub fn close_one(&self) {
        let _none_waits = self.open().close_oldest(|_| true);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Makes room for one more connection among those that `counts` selects.
    /// Connections that are closing may exceed the limit by a quarter.
    fn make_room(&mut self, most: usize, counts: impl Fn(&Connection) -> bool) -> Option<()> {
        let among = || self.by_number.values().filter(|one| counts(one));
        if among().count() > most + most / 4 {
            return None;
        }
        if among().filter(|one| one.phase != Phase::Closing).count() < most {
            return Some(());
        }
        self.close_oldest(counts)
    }

    /// Asks the oldest idle connection to close, preferring connections that never sent a request.
    fn close_oldest(&mut self, counts: impl Fn(&Connection) -> bool) -> Option<()> {
        let oldest = |phase: Phase| {
            let waiting = self.by_number.iter().filter(|(_, one)| one.phase == phase && counts(one));
            waiting.map(|(number, _)| *number).min()
        };
        let number = oldest(Phase::New).or_else(|| oldest(Phase::Answered))?;
        let one = self.by_number.get_mut(&number)?;
        // An answered connection may still have part of its answer to send; a new one is dropped immediately.
        if one.phase == Phase::Answered {
            one.phase = Phase::Closing;
            one.close.notify_one();
        } else if let Some(one) = self.by_number.remove(&number) {
            one.close.notify_one();
        }
        Some(())
    }
}

impl ConnectionSlot {
    /// Waits until this connection should close.
    pub async fn wait_for_close(&self) {
        self.close.notified().await;
    }

    /// Returns whether a request has arrived, so that an answer may still have to be sent.
    pub fn is_in_use(&self) -> bool {
        self.connections.open().by_number.get(&self.number).is_some_and(|one| one.phase != Phase::New)
    }

    /// Marks the connection as busy until the guard is dropped.
    pub fn busy(self: &Arc<Self>) -> Busy {
        self.enter(Phase::Busy);
        Busy(Arc::clone(self))
    }

    fn enter(&self, phase: Phase) {
        let mut open = self.connections.open();
        // A request that arrives just as its connection is asked to close is still answered.
        let (client, close) = (self.client, Arc::clone(&self.close));
        let late = || Connection { client, phase: Phase::Closing, close };
        let one = open.by_number.entry(self.number).or_insert_with(late);
        if one.phase != Phase::Closing {
            one.phase = phase;
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.open().by_number.remove(&self.number);
    }
}

/// Guard for a request in progress. Dropping it marks the connection as answered.
#[derive(Debug)]
pub struct Busy(Arc<ConnectionSlot>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.enter(Phase::Answered);
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use super::*;

    async fn is_to_close(place: &ConnectionSlot) -> bool {
        let mut asked = pin!(place.wait_for_close());
        std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context).is_ready())).await
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    #[tokio::test]
    async fn oldest_silent_connection_makes_room() {
        let connections = Connections::new(3, 3);
        let places: Vec<_> = (0..3).map(|_| Arc::new(connections.admit(None).unwrap())).collect();
        let busy = places[0].busy();
        let _new = connections.admit(None).unwrap();
        assert!(is_to_close(&places[1]).await && !places[1].is_in_use());
        assert!(!is_to_close(&places[0]).await && !is_to_close(&places[2]).await);
        drop(busy);
        let _newer = connections.admit(None).unwrap();
        assert!(is_to_close(&places[2]).await, "silent ones go before those that were answered");
        assert!(!is_to_close(&places[0]).await);
    }

    #[tokio::test]
    async fn answered_connections_close_and_busy_ones_stay() {
        let connections = Connections::new(4, 4);
        let places: Vec<_> = (0..4).map(|_| Arc::new(connections.admit(None).unwrap())).collect();
        let mut busy: Vec<_> = places.iter().map(ConnectionSlot::busy).collect();
        assert!(connections.admit(None).is_none(), "all are busy");
        drop(busy.remove(2));
        let last = Arc::new(connections.admit(None).unwrap());
        assert!(is_to_close(&places[2]).await && places[2].is_in_use());
        let _busy = last.busy();
        assert!(connections.admit(None).is_none(), "one is still closing");
        drop(places);
        assert!(connections.admit(None).is_none(), "a guard keeps its connection");
        drop(busy);
        assert!(connections.admit(None).is_some());
    }

    #[tokio::test]
    async fn one_client_leaves_room_for_others() {
        let connections = Connections::new(8, 4);
        let places: Vec<_> = (0..4).map(|_| Arc::new(connections.admit(address(1)).unwrap())).collect();
        let _busy: Vec<_> = places.iter().map(ConnectionSlot::busy).collect();
        assert!(connections.admit(address(1)).is_none());
        let others: Vec<_> = (0..4).map(|_| connections.admit(address(2)).unwrap()).collect();
        assert!(connections.admit(address(2)).is_some() && is_to_close(&others[0]).await);
    }

    #[tokio::test]
    async fn request_during_close_is_answered() {
        let connections = Connections::new(1, 1);
        let first = Arc::new(connections.admit(None).unwrap());
        let _second = connections.admit(None).unwrap();
        let busy = first.busy();
        assert!(is_to_close(&first).await && first.is_in_use());
        drop(busy);
        assert!(first.is_in_use());
    }
}
