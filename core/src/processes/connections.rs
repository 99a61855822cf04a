//! TCP connections of an MPI to other machines: one whose other end falls silent is an error within half a minute, not after the hours that
//! a system waits by itself. What the error does is the MPI's: it names the peer, and ends all processes.

use rustix::net::{self, sockopt};
use std::fs;
use std::os::fd::BorrowedFd;
use std::thread;
use std::time::Duration;

/// How long bytes may stay without an answer of the other end's system, in milliseconds.
const ANSWERED: u32 = 20_000;
/// A connection without traffic is asked after so long, then after each of these pauses, so many times.
const IDLE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(5);
const TIMES: u32 = 2;
/// An MPI connects when processes first talk: new connections are looked for this often.
const EVERY: Duration = Duration::from_secs(5);

/// Looks after all connections of this process from here on.
pub(super) fn watch() {
    let look = || {
        loop {
            bound();
            thread::sleep(EVERY);
        }
    };
    // Without the thread the MPI waits as it would.
    let _ = thread::Builder::new().name("connections".into()).spawn(look);
}

/// Gives each connection to another machine its bounds.
fn bound() {
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return };
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    for number in numbers {
        // SAFETY: it was open just now; where it is closed meanwhile, the calls below fail or bound another connection.
        let socket = unsafe { BorrowedFd::borrow_raw(number) };
        if is_to_another_machine(socket) {
            // An option that a system lacks is one bound less.
            let _ = sockopt::set_tcp_user_timeout(socket, ANSWERED);
            let _ = sockopt::set_socket_keepalive(socket, true);
            let _ = sockopt::set_tcp_keepidle(socket, IDLE);
            let _ = sockopt::set_tcp_keepintvl(socket, PAUSE);
            let _ = sockopt::set_tcp_keepcnt(socket, TIMES);
        }
    }
}

/// Whether it is a connection over IP to an address that is not of this machine's loopback.
fn is_to_another_machine(socket: BorrowedFd<'_>) -> bool {
    let peer = net::getpeername(socket).ok().flatten().and_then(|peer| std::net::SocketAddr::try_from(peer).ok());
    peer.is_some_and(|peer| !peer.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    #[test]
    fn only_connections_to_other_machines_are_bound() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!is_to_another_machine(here.as_fd()) && !is_to_another_machine(listener.as_fd()));
        assert!(!is_to_another_machine(fs::File::open("/proc/self/status").unwrap().as_fd()));
        // No packet is sent.
        let away = UdpSocket::bind("0.0.0.0:0").unwrap();
        if away.connect("192.0.2.1:9").is_ok() {
            assert!(is_to_another_machine(away.as_fd()));
        }
        bound();
        assert_ne!(sockopt::tcp_user_timeout(&here).unwrap(), ANSWERED);
    }
}
