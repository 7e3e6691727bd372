//! The address and scheme of a [`Client`] behind reverse proxies that are trusted ([`TrustedProxies`]).

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, header, request::Parts},
};
use thiserror::Error;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Prefix length of an IPv6 subscriber: one machine can use every address of a /64.
const IPV6_SITE_BITS: u32 = 64;

/// An address, or a block of addresses such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressBlock {
    address: IpAddr,
    bits: u32,
}

/// A text that is neither an address nor a block of addresses.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an IP address or a block such as 10.0.0.0/8")]
pub struct AddressBlockError(String);

impl FromStr for AddressBlock {
    type Err = AddressBlockError;

    fn from_str(text: &str) -> Result<Self, AddressBlockError> {
        let error = || AddressBlockError(text.to_owned());
        let (address, bits) = match text.trim().split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| error())?)),
            None => (text.trim(), None),
        };
        let address = address.parse::<IpAddr>().map_err(|_| error())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        match bits.unwrap_or(most) {
            bits if bits <= most => Ok(Self { address: address.to_canonical(), bits }),
            _ => Err(error()),
        }
    }
}

impl AddressBlock {
    fn contains(self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(block), IpAddr::V4(one)) => {
                let shift = 32 - self.bits.min(32);
                u32::from(block).checked_shr(shift) == u32::from(one).checked_shr(shift)
            }
            (IpAddr::V6(block), IpAddr::V6(one)) => {
                let shift = 128 - self.bits.min(128);
                u128::from(block).checked_shr(shift) == u128::from(one).checked_shr(shift)
            }
            _ => false,
        }
    }
}

/// Proxies whose forwarding headers are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<AddressBlock>);

impl From<Vec<AddressBlock>> for TrustedProxies {
    fn from(blocks: Vec<AddressBlock>) -> Self {
        Self(blocks)
    }
}

/// The sender of a request, according to the connection and trusted headers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Client {
    /// Address of the client; `None` if the connection has none.
    pub address: Option<IpAddr>,
    /// True if the connection to the outermost proxy is encrypted.
    pub is_https: bool,
    /// True if the peer is trusted to name the account that has signed in.
    pub is_proxied: bool,
}

impl Client {
    /// Returns the address that rate limits count by. All addresses of an IPv6 /64 count as one.
    #[must_use]
    pub fn site(self) -> Option<IpAddr> {
        self.address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => {
                let host_bits = 128 - IPV6_SITE_BITS;
                IpAddr::V6(Ipv6Addr::from(u128::from(address) >> host_bits << host_bits))
            }
            v4 => v4,
        })
    }
}

impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

impl Client {
    /// Returns the client that the guard stored in a request.
    #[must_use]
    pub fn of(parts: &Parts) -> Self {
        parts.extensions.get::<Self>().copied().unwrap_or_default()
    }
}

impl TrustedProxies {
    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|block| block.contains(address))
    }

    /// Returns the client that a connection counts for.
    /// `None` for loopback and trusted proxies, which carry many clients.
    #[must_use]
    pub fn client_of_connection(&self, peer: IpAddr) -> Option<IpAddr> {
        let client = Client { address: Some(peer.to_canonical()), ..Client::default() };
        client.site().filter(|_| !peer.to_canonical().is_loopback() && !self.trusts(peer))
    }

    /// Returns the client behind a connection: the rightmost address that is not a trusted proxy.
    /// Forwarding headers from other peers are ignored. Without trusted proxies, a peer on loopback may still name an
    /// account.
    #[must_use]
    pub fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Client {
        let peer = peer.map(|peer| peer.to_canonical());
        let is_proxied = peer.is_some_and(|peer| match self.0.is_empty() {
            true => peer.is_loopback(),
            false => self.trusts(peer),
        });
        let Some(proxy) = peer.filter(|peer| self.trusts(*peer)) else {
            return Client { address: peer, is_https: false, is_proxied };
        };
        let (plain, standard) = (x_forwarded(headers), forwarded(headers));
        let from = |hops: &[Hop]| self.outermost(proxy, hops);
        let (address, is_https) = match (plain, standard) {
            (None, None) => (proxy, last(headers, &X_FORWARDED_PROTO).is_some_and(is_https)),
            (Some(hops), None) => (from(&hops), last(headers, &X_FORWARDED_PROTO).is_some_and(is_https)),
            (None, Some(hops)) => (from(&hops), hops.last().is_some_and(|hop| hop.is_https)),
            // A proxy sets one of the two headers and passes the other through. If they differ, one is forged.
            (Some(plain), Some(standard)) if from(&plain) == from(&standard) => {
                (from(&plain), last(headers, &X_FORWARDED_PROTO).is_some_and(is_https))
            }
            _ => (proxy, false),
        };
        Client { address: Some(address), is_https, is_proxied }
    }

    /// Walks from the peer outwards, as long as each hop is trusted and the next one is an address.
    fn outermost(&self, peer: IpAddr, hops: &[Hop]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            if !self.trusts(client) {
                break;
            }
            let Some(address) = hop.address else { break };
            client = address;
        }
        client
    }
}

/// One hop of a forwarding header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hop {
    address: Option<IpAddr>,
    is_https: bool,
}

/// Returns the elements of a list header, across all its lines; `None` without the header.
fn elements(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let lines: Vec<_> = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("?")).collect();
    let all = lines.iter().flat_map(|line| line.split(',')).map(|element| element.trim().to_owned());
    (!lines.is_empty()).then(|| all.collect())
}

fn last(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    elements(headers, name)?.pop()
}

fn is_https(scheme: String) -> bool {
    scheme.eq_ignore_ascii_case("https")
}

fn x_forwarded(headers: &HeaderMap) -> Option<Vec<Hop>> {
    let all = elements(headers, &X_FORWARDED_FOR)?;
    Some(all.iter().map(|text| Hop { address: node(text), is_https: false }).collect())
}

/// Parses the hops of `Forwarded` (RFC 7239).
fn forwarded(headers: &HeaderMap) -> Option<Vec<Hop>> {
    let hop = |element: &String| {
        let mut hop = Hop { address: None, is_https: false };
        for (name, value) in element.split(';').filter_map(|pair| pair.trim().split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim() {
                name if name.eq_ignore_ascii_case("for") => hop.address = node(value),
                name if name.eq_ignore_ascii_case("proto") => hop.is_https = value.eq_ignore_ascii_case("https"),
                _ => {}
            }
        }
        hop
    };
    Some(elements(headers, &header::FORWARDED)?.iter().map(hop).collect())
}

/// Parses an address with an optional port; an IPv6 address with a port is in brackets.
fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let plain = match text.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None if text.parse::<IpAddr>().is_ok() => text,
        None => text.split(':').next()?,
    };
    plain.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(blocks: &[&str]) -> TrustedProxies {
        TrustedProxies(blocks.iter().map(|block| block.parse().unwrap()).collect())
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn address(trusted: &[&str], peer: &str, lines: &[(&'static str, &str)]) -> String {
        let client = proxies(trusted).client(Some(peer.parse().unwrap()), &headers(lines));
        client.address.unwrap().to_string()
    }

    #[test]
    fn proxy_connections_are_not_limited() {
        let trusted = proxies(&["10.0.0.0/8"]);
        let counted = |peer: &str| trusted.client_of_connection(peer.parse().unwrap()).map(|client| client.to_string());
        assert_eq!(counted("10.1.2.3"), None);
        assert_eq!(counted("127.0.0.1"), None);
        assert_eq!(counted("::ffff:127.0.0.1"), None);
        assert_eq!(counted("192.0.2.7").as_deref(), Some("192.0.2.7"));
        assert_eq!(counted("2001:db8::1:2").as_deref(), Some("2001:db8::"));
    }

    #[test]
    fn untrusted_headers_are_ignored() {
        let lines = [("x-forwarded-for", "9.9.9.9"), ("x-forwarded-proto", "https"), ("forwarded", "for=8.8.8.8")];
        for trusted in [&[][..], &["10.0.0.1"]] {
            let client = proxies(trusted).client(Some("127.0.0.1".parse().unwrap()), &headers(&lines));
            assert_eq!((client.address, client.is_https), (Some("127.0.0.1".parse().unwrap()), false));
            assert_eq!(client.is_proxied, trusted.is_empty(), "without a list, loopback may name an account");
        }
        assert!(!proxies(&[]).client(Some("192.0.2.1".parse().unwrap()), &headers(&lines)).is_proxied);
    }

    #[test]
    fn rightmost_untrusted_address_is_the_client() {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
        for (lines, client) in [
            (&[("x-forwarded-for", "203.0.113.7")][..], "203.0.113.7"),
            (&[("x-forwarded-for", "6.6.6.6, 203.0.113.7, 10.1.2.3")], "203.0.113.7"),
            (&[("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "203.0.113.7:4711")], "203.0.113.7"),
            (&[("x-forwarded-for", "10.0.0.9, 10.0.0.8")], "10.0.0.9"),
            (&[("x-forwarded-for", "203.0.113.7, unknown")], "127.0.0.1"),
            (&[("x-forwarded-for", "[2001:db8::1]:443")], "2001:db8::1"),
            (&[("forwarded", "for=\"[2001:db8::1]:80\";proto=https, for=10.0.0.2")], "2001:db8::1"),
            (&[("forwarded", "For=203.0.113.7")], "203.0.113.7"),
            (&[("forwarded", "for=_hidden")], "127.0.0.1"),
            (&[("forwarded", "for=6.6.6.6"), ("x-forwarded-for", "203.0.113.7")], "127.0.0.1"),
            (&[("forwarded", "for=203.0.113.7"), ("x-forwarded-for", "203.0.113.7")], "203.0.113.7"),
            (&[], "127.0.0.1"),
        ] {
            assert_eq!(address(&trusted, "127.0.0.1", lines), client, "{lines:?}");
            assert_eq!(address(&trusted, "::ffff:127.0.0.1", lines), client, "{lines:?}");
        }
    }

    #[test]
    fn scheme_comes_from_trusted_proxies() {
        let https = |lines: &[(&'static str, &str)]| {
            proxies(&["127.0.0.1"]).client(Some("127.0.0.1".parse().unwrap()), &headers(lines)).is_https
        };
        assert!(https(&[("x-forwarded-proto", "https")]));
        assert!(https(&[("x-forwarded-for", "9.9.9.9"), ("x-forwarded-proto", "HTTPS")]));
        assert!(https(&[("forwarded", "for=9.9.9.9;proto=https")]));
        assert!(!https(&[("x-forwarded-proto", "https, http")]));
        assert!(!https(&[("x-forwarded-for", "9.9.9.9"), ("forwarded", "for=8.8.8.8;proto=https")]));
    }

    #[test]
    fn blocks_are_read_strictly() {
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "::1/129", "proxy.example", "10.0.0.1/x"] {
            assert!(bad.parse::<AddressBlock>().is_err(), "{bad}");
        }
        let all: AddressBlock = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("203.0.113.7".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }

    #[test]
    fn ipv6_sites_count_as_one() {
        let site = |text: &str| Client { address: text.parse().ok(), ..Client::default() }.site();
        assert_eq!(site("2001:db8:1:2:3::4"), site("2001:db8:1:2:ffff::"));
        assert_ne!(site("2001:db8:1:2::"), site("2001:db8:1:3::"));
        assert_ne!(site("192.0.2.1"), site("192.0.2.2"));
    }
}
