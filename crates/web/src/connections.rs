//! [`Connections`]: ceilings on open connections. At a ceiling, one that waits for a request is closed for the new one.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The open connections of a server.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    most_of_client: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of the next one. The lower of two numbers is of the older connection.
    next: u64,
    by_number: HashMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    client: Option<IpAddr>,
    phase: Phase,
    close: Arc<Notify>,
}

/// What a connection does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not sent a whole request yet.
    New,
    /// A request is worked on.
    Busy,
    /// A request was answered. The answer may still be on its way.
    Answered,
    /// It was asked to close.
    Closing,
}

/// An open connection; dropped with it.
#[derive(Debug)]
pub struct Place {
    connections: Arc<Connections>,
    number: u64,
    client: Option<IpAddr>,
    close: Arc<Notify>,
}

impl Connections {
    /// So many connections in all, and of one client.
    pub fn new(most: usize, most_of_client: usize) -> Arc<Self> {
        Arc::new(Self { most, most_of_client, open: Mutex::default() })
    }

    /// A place for a new connection; `None` when too many are busy. Without `client` only the ceiling on all counts.
    pub fn admit(self: &Arc<Self>, client: Option<IpAddr>) -> Option<Place> {
        let mut open = self.open();
        let is_of_client = |one: &Connection| client.is_some() && one.client == client;
        open.make_room(self.most_of_client, is_of_client)?;
        open.make_room(self.most, |_| true)?;
        let (number, close) = (open.next, Arc::new(Notify::new()));
        open.next += 1;
        open.by_number.insert(number, Connection { client, phase: Phase::New, close: Arc::clone(&close) });
        Some(Place { connections: Arc::clone(self), number, client, close })
    }

    /// Closes the connection that has waited longest for a request, where one waits.
    pub fn close_one(&self) {
        let _none_waits = self.open().close_oldest(|_| true);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Makes room for one more among those that count. Connections that are closing may exceed the ceiling by a quarter.
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

    /// Asks the oldest connection of those that wait for a request to close: first of those that never sent one.
    fn close_oldest(&mut self, counts: impl Fn(&Connection) -> bool) -> Option<()> {
        let oldest = |phase: Phase| {
            let waiting = self.by_number.iter().filter(|(_, one)| one.phase == phase && counts(one));
            waiting.map(|(number, _)| *number).min()
        };
        let number = oldest(Phase::New).or_else(|| oldest(Phase::Answered))?;
        let one = self.by_number.get_mut(&number)?;
        // One that was answered may have a part of the answer to send yet; a new one goes at once.
        if one.phase == Phase::Answered {
            one.phase = Phase::Closing;
            one.close.notify_one();
        } else if let Some(one) = self.by_number.remove(&number) {
            one.close.notify_one();
        }
        Some(())
    }
}

impl Place {
    /// Completes when this connection is to close.
    pub async fn asked_to_close(&self) {
        self.close.notified().await;
    }

    /// Whether a request was sent, so that an answer may be on its way.
    pub fn is_in_use(&self) -> bool {
        self.connections.open().by_number.get(&self.number).is_some_and(|one| one.phase != Phase::New)
    }

    /// A request is worked on, until the guard is dropped.
    pub fn busy(self: &Arc<Self>) -> Busy {
        self.enter(Phase::Busy);
        Busy(Arc::clone(self))
    }

    fn enter(&self, phase: Phase) {
        let mut open = self.connections.open();
        // A request that came just when its connection was to close is answered first.
        let (client, close) = (self.client, Arc::clone(&self.close));
        let late = || Connection { client, phase: Phase::Closing, close };
        let one = open.by_number.entry(self.number).or_insert_with(late);
        if one.phase != Phase::Closing {
            one.phase = phase;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().by_number.remove(&self.number);
    }
}

/// A connection with a request that is worked on.
#[derive(Debug)]
pub struct Busy(Arc<Place>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.enter(Phase::Answered);
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::pin, task::Poll};

    use super::*;

    async fn is_to_close(place: &Place) -> bool {
        let mut asked = pin!(place.asked_to_close());
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
        let mut busy: Vec<_> = places.iter().map(Place::busy).collect();
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
        let _busy: Vec<_> = places.iter().map(Place::busy).collect();
        assert!(connections.admit(address(1)).is_none());
        let others: Vec<_> = (0..4).map(|_| connections.admit(address(2)).unwrap()).collect();
        assert!(connections.admit(address(2)).is_some() && is_to_close(&others[0]).await);
    }

    #[tokio::test]
    async fn request_that_comes_while_closing_is_answered() {
        let connections = Connections::new(1, 1);
        let first = Arc::new(connections.admit(None).unwrap());
        let _second = connections.admit(None).unwrap();
        let busy = first.busy();
        assert!(is_to_close(&first).await && first.is_in_use());
        drop(busy);
        assert!(first.is_in_use());
    }
}
