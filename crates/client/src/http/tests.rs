//! Tests against a real server on loopback with scripted responses.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Ipv4Addr, TcpListener},
    thread,
};

use super::*;

/// Serves these responses, one for each connection, and returns the URL.
fn serve(answers: Vec<Vec<u8>>) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let _closed_early = stream.write_all(&answer);
        }
    });
    url
}

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn sent_on(to: &str) -> Vec<u8> {
    answer("302 Found", &format!("Location: {to}\r\n"), b"")
}

#[test]
fn partial_or_oversized_file_is_refused() {
    let url = serve(vec![answer("200 OK", "", b"12345"); 2]);
    assert_eq!(get(&url, 5).unwrap(), b"12345");
    assert!(matches!(get(&url, 4), Err(HttpError::TooLarge { limit: 4, .. })));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234".to_vec();
    assert!(matches!(get(&serve(vec![cut]), 50), Err(HttpError::Unreached { .. })));
}

#[test]
fn failed_requests_are_classified() {
    let of = |status: &str| get(&serve(vec![answer(status, "", b"x")]), 50).unwrap_err().failure().kind;
    assert_eq!(of("404 Not Found"), FailureKind::NotFound);
    assert_eq!(of("410 Gone"), FailureKind::NotFound);
    assert_eq!(of("500 Internal Server Error"), FailureKind::Unreachable);
    assert_eq!(of("204 No Content"), FailureKind::Unreachable);
    assert_eq!(get("http://127.0.0.1:1/x", 50).unwrap_err().failure().kind, FailureKind::Unreachable);
}

#[test]
fn only_downloads_are_replaced_by_files() {
    let hint = |failure: Failure| failure.hint.unwrap().to_string();
    let error = get("http://127.0.0.1:1/x/y.skill", 50).unwrap_err();
    assert!(hint(error.failure()).contains("download the file yourself"));
    let of_server = hint(error.of_server());
    assert!(of_server.contains("the server at http://127.0.0.1:1 is running"), "{of_server}");
    assert!(!of_server.contains("download"), "{of_server}");
}

#[test]
fn redirects_stay_within_scheme_and_limit() {
    let url = serve(vec![sent_on("/there"), sent_on("again"), answer("200 OK", "", b"x")]);
    assert_eq!(get(&format!("{url}/here"), 5).unwrap(), b"x");
    for to in ["https://127.0.0.1/x", "file:///etc/passwd", "http://me:secret@127.0.0.1/x", "javascript:x", ""] {
        assert!(matches!(get(&serve(vec![sent_on(to)]), 5), Err(HttpError::Redirect { .. })), "{to}");
    }
    assert!(matches!(get(&serve(vec![sent_on("/x"); 9]), 5), Err(HttpError::Redirect { .. })));
}
