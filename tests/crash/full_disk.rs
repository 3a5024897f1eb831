//! The real daemon on a file system that is too small, under load: full again and again, of its own data or of another
//! program's.
//!
//! Guarantees: rules 5 and 14: what was answered is found, as long as retention keeps it; what was refused is not; and the
//! daemon takes batches again as soon as there is room, without another start.

use crate::support::daemon::Daemon;
use crate::support::http::{PROTOBUF, Sender};
use crate::support::noise;
use crate::support::small_fs::SmallFs;
use crate::support::store::requests;
use prost::Message;
use sluice::storage::OpenStore;
use sluice::storage::disk::SystemDisk;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SENDERS: u64 = 4;
/// A log of 8 MiB and segments of 1 MiB: 10 MiB are kept free.
const SMALL: &str = "wal: {max_size: 8MiB, file_size: 1MiB}, seal: {max_size: 1MiB, max_age: 1s}";
const RESERVE: u64 = 10 << 20;
/// Generous: only a daemon that does not recover meets it.
const DEADLINE: Duration = Duration::from_secs(40);

/// What a sender heard of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Answer {
    Ok,
    /// With the reason.
    Refused(String),
    None,
}

#[derive(Debug, Clone)]
struct Sent {
    answer: Answer,
    began: Instant,
    ended: Instant,
}

/// Senders at work, and everything they have heard.
struct Load {
    stop: Arc<AtomicBool>,
    heard: mpsc::Receiver<(u64, Sent)>,
    threads: Vec<JoinHandle<()>>,
}

/// Numbers of batches, over all loads.
type Numbers = Arc<AtomicU64>;
type Log = BTreeMap<u64, Sent>;

fn size(number: u64) -> (u64, usize) {
    let mut random = noise::Random(number ^ 0x5eed);
    (1 + random.below(20), 500 + random.below(8_000) as usize)
}

/// Sends until it is told to stop or the daemon is gone; never the same batch twice.
fn send(address: SocketAddr, numbers: &AtomicU64, stop: &AtomicBool, heard: &mpsc::Sender<(u64, Sent)>) {
    let Ok(mut sender) = Sender::connect(address) else { return };
    while !stop.load(Ordering::Relaxed) {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let (spans, noise) = size(number);
        let body = noise::request(number, spans, noise).encode_to_vec();
        let began = Instant::now();
        let answer = match sender.post(PROTOBUF, &body) {
            Ok((200, _)) => Answer::Ok,
            Ok((503, body)) => Answer::Refused(String::from_utf8_lossy(&body).into_owned()),
            Ok((code, body)) => panic!("batch {number}: {code} {}", String::from_utf8_lossy(&body)),
            Err(_) => Answer::None,
        };
        let gone = answer == Answer::None;
        let sent = Sent { answer, began, ended: Instant::now() };
        if heard.send((number, sent)).is_err() || gone {
            return;
        }
    }
}

impl Load {
    fn start(address: SocketAddr, numbers: &Numbers) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, heard) = mpsc::channel();
        let sender = |_| {
            let (numbers, stop, tell) = (numbers.clone(), stop.clone(), tell.clone());
            std::thread::spawn(move || send(address, &numbers, &stop, &tell))
        };
        let threads = (0..SENDERS).map(sender).collect();
        Self { stop, heard, threads }
    }

    /// Listens until so many answers of a kind were heard that were asked for after this call.
    fn until(&self, log: &mut Log, what: &str, count: usize, is_it: impl Fn(&Answer) -> bool) {
        let (began, mut seen) = (Instant::now(), 0);
        while seen < count {
            let left = DEADLINE.saturating_sub(began.elapsed());
            let Ok((number, sent)) = self.heard.recv_timeout(left) else {
                panic!("waited in vain for {what}: {seen} of {count}")
            };
            seen += usize::from(sent.began >= began && is_it(&sent.answer));
            log.insert(number, sent);
        }
    }

    fn until_full(&self, log: &mut Log) {
        self.until(
            log,
            "refusals for want of room on the disk",
            12,
            |answer| matches!(answer, Answer::Refused(why) if why.contains("disk.reserve keeps 10.0 MiB")),
        );
    }

    fn until_taken(&self, log: &mut Log, count: usize) {
        self.until(log, "success", count, |answer| *answer == Answer::Ok);
    }

    fn end(self, log: &mut Log) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
        log.extend(self.heard.try_iter());
    }
}

/// Numbers of the batches that are in a directory that no daemon holds.
fn stored(directory: &Path) -> Vec<u64> {
    let store = OpenStore::open(directory, &SystemDisk).unwrap();
    assert!(store.found.holes.is_empty() && store.found.unreadable.is_empty(), "{:?}", store.found);
    let found = requests(&store.snapshot);
    for (number, request) in &found {
        let (spans, noise) = size(*number);
        assert_eq!(*request, noise::request(*number, spans, noise), "batch {number}");
    }
    found.into_keys().collect()
}

/// How often senders were told what, figures left out.
fn reasons(log: &Log) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for sent in log.values() {
        if let Answer::Refused(why) = &sent.answer {
            let words = why.chars().filter(|letter| letter.is_alphabetic() || " ._:".contains(*letter)).collect();
            *reasons.entry(words).or_default() += 1;
        }
    }
    reasons
}

/// Compares what is stored with what was heard. `may_be_gone` says which answered batches need not be there.
fn check(directory: &Path, log: &Log, may_be_gone: impl Fn(&Sent) -> bool) {
    let stored = stored(directory);
    let there = |number: &u64| stored.binary_search(number).is_ok();
    let count = |what: &dyn Fn(&u64, &Sent) -> bool| log.iter().filter(|(number, sent)| what(number, sent)).count();
    let answered = count(&|_, sent| sent.answer == Answer::Ok);
    let refused = count(&|_, sent| matches!(sent.answer, Answer::Refused(_)));
    let lost = count(&|number, sent| sent.answer == Answer::Ok && !there(number) && !may_be_gone(sent));
    let wrong = count(&|number, sent| matches!(sent.answer, Answer::Refused(_)) && there(number));
    let unheard = stored.iter().filter(|number| !log.contains_key(number)).count();
    println!(
        "  {answered} answered, {refused} refused, {} stored; lost {lost}, refused and stored {wrong}, never sent {unheard}",
        stored.len()
    );
    println!("  refused because: {:?}", reasons(log));
    assert_eq!((lost, wrong, unheard), (0, 0, 0));
    assert!(refused > 0 && answered > 50);
}

/// Scenario: another program's file leaves little or nothing, three times; then it leaves nothing, the daemon is killed and
/// started, and the file goes. Nothing expires.
#[test]
fn a_file_of_another_program_may_fill_the_disk_and_go_again_and_again() {
    let Some(fs) = SmallFs::new(160) else { return };
    println!("{}", fs.kind);
    let directory = fs.root.join("store");
    let (numbers, mut log) = (Numbers::default(), Log::new());
    let mut daemon = Daemon::start(&directory, SMALL);
    let load = Load::start(daemon.http, &numbers);
    load.until_taken(&mut log, 20);
    for (round, leave) in [RESERVE / 2, 100 << 10, 0].into_iter().enumerate() {
        let foreign = fs.fill(leave);
        let free = fs.free() >> 10;
        load.until_full(&mut log);
        fs::remove_file(foreign).unwrap();
        let gone = Instant::now();
        load.until_taken(&mut log, 20);
        println!(
            "  round {}: full with {free} KiB free; taken again after {:.1} s",
            round + 1,
            gone.elapsed().as_secs_f64()
        );
    }
    let foreign = fs.fill(0);
    load.until_full(&mut log);
    daemon.kill();
    load.end(&mut log);
    daemon = Daemon::start(&directory, SMALL);
    let load = Load::start(daemon.http, &numbers);
    load.until(&mut log, "refusals after a start while full", 12, |answer| matches!(answer, Answer::Refused(_)));
    fs::remove_file(foreign).unwrap();
    let gone = Instant::now();
    load.until_taken(&mut log, 20);
    println!("  killed and started while full; taken again after {:.1} s", gone.elapsed().as_secs_f64());
    load.end(&mut log);
    daemon.stop();
    check(&directory, &log, |_| false);
}

/// Scenario: the load itself fills the disk, twice, and what is there becomes too old; killed and started while it is full.
/// Guarantee: time alone makes room, and nothing goes before its time.
#[test]
fn a_disk_full_of_its_own_data_has_room_again_when_that_is_old_enough() {
    const MAX_AGE: Duration = Duration::from_secs(6);
    let Some(fs) = SmallFs::new(96) else { return };
    println!("{}", fs.kind);
    // So little room that it is taken before anything is old.
    fs.fill(36 << 20);
    let directory = fs.root.join("store");
    let storage = format!("{SMALL}, retention: {{max_age: 6s}}");
    let (numbers, mut log) = (Numbers::default(), Log::new());
    let mut daemon = Daemon::start(&directory, &storage);
    let mut load = Load::start(daemon.http, &numbers);
    for round in 1..=2 {
        let began = Instant::now();
        load.until_full(&mut log);
        let (full, free) = (Instant::now(), fs.free() >> 20);
        if round == 2 {
            daemon.kill();
            load.end(&mut log);
            daemon = Daemon::start(&directory, &storage);
            load = Load::start(daemon.http, &numbers);
        }
        load.until_taken(&mut log, 20);
        let (filled, waited) = ((full - began).as_secs_f64(), full.elapsed().as_secs_f64());
        println!("  round {round}: full after {filled:.1} s with {free} MiB free; taken again after {waited:.1} s");
    }
    load.end(&mut log);
    daemon.stop();
    let end = Instant::now();
    check(&directory, &log, |sent| end - sent.began > MAX_AGE);
    let gone = log.values().filter(|sent| sent.answer == Answer::Ok).count() - stored(&directory).len();
    assert!(gone > 0, "nothing has expired");
}

/// Scenario: several times what the disk holds, under a limit of size. Guarantee: nobody is refused for want of room on the
/// disk, and what is left is the newest.
#[test]
fn a_limit_of_size_keeps_the_disk_from_getting_full() {
    let Some(fs) = SmallFs::new(96) else { return };
    println!("{}", fs.kind);
    let directory = fs.root.join("store");
    let (numbers, mut log) = (Numbers::default(), Log::new());
    let mut daemon = Daemon::start(&directory, &format!("{SMALL}, retention: {{max_size: 40MiB}}"));
    let load = Load::start(daemon.http, &numbers);
    let began = Instant::now();
    load.until_taken(&mut log, 3_000);
    load.end(&mut log);
    daemon.stop();
    let stored = stored(&directory);
    let answered = |sent: &Sent| sent.answer == Answer::Ok;
    let full = |sent: &Sent| matches!(&sent.answer, Answer::Refused(why) if why.contains("disk.reserve"));
    assert_eq!(log.values().filter(|sent| full(sent)).count(), 0, "refused though retention makes room");
    // Of two batches that were not on their way at the same time, the later one is not gone if the earlier is there.
    let gone = log.iter().filter(|(number, sent)| answered(sent) && stored.binary_search(number).is_err());
    let last_gone = gone.map(|(_, sent)| sent.began).max().expect("something has expired");
    let first_there = stored.iter().map(|number| log[number].ended).min().unwrap();
    assert!(last_gone <= first_there, "{:?} too far", last_gone - first_there);
    let all = log.values().filter(|sent| answered(sent)).count();
    println!("  {all} answered in {:.1} s, the newest {} stored", began.elapsed().as_secs_f64(), stored.len());
}
