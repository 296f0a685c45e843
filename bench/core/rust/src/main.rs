//! corebench-peers NAME: a worker of `make bench-core` (docs/bench-core.md) for a peer that is a Rust crate.
//!
//! Reads a line of JSON for each turn and answers with one, as bench/core/worker does.

use std::error::Error;
use std::fs;
use std::io::{stdin, BufRead};

use openai_harmony::chat::{Content, Conversation, Message, Role};
use openai_harmony::{load_harmony_encoding, HarmonyEncoding, HarmonyEncodingName, StreamableParser};
use serde::{Deserialize, Serialize};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
struct Request {
    op: String,
    file: String,
    #[serde(default)]
    warm: String,
    repeat: usize,
}

#[derive(Serialize)]
struct Reply {
    cpu: u64,
    count: usize,
    sum: u32,
}

#[derive(Serialize)]
struct Ready {
    start: u64,
    load: u64,
    rss: i64,
}

#[derive(Serialize)]
struct Failure {
    error: String,
}

enum Peer {
    Bpe(&'static bpe_openai::Tokenizer),
    Harmony(HarmonyEncoding),
}

enum Work {
    Encode(Vec<String>),
    Render(Conversation),
    Strict(Vec<u32>),
}

enum Outcome {
    Ids(Vec<Vec<u32>>),
    Messages(Vec<Message>),
}

fn main() -> Result<()> {
    let name = std::env::args().nth(1).ok_or("usage: corebench-peers NAME")?;
    let (before, size) = (cpu(), resident()?);
    let peer = match name.as_str() {
        "bpe-openai" => Peer::Bpe(bpe_openai::o200k_base()),
        "openai-harmony" => Peer::Harmony(load_harmony_encoding(HarmonyEncodingName::HarmonyGptOss)?),
        _ => return Err(format!("no peer {name}").into()),
    };
    peer.encode("a");
    let now = cpu();
    say(&Ready { start: now, load: now - before, rss: resident()? - size })?;
    for line in stdin().lock().lines() {
        match turn(&peer, &line?) {
            Ok(reply) => say(&reply)?,
            Err(error) => say(&Failure { error: error.to_string() })?,
        }
    }
    Ok(())
}

fn turn(peer: &Peer, line: &str) -> Result<Reply> {
    let request: Request = serde_json::from_str(line)?;
    if !request.warm.is_empty() {
        peer.run(&read(&request.op, &request.warm)?)?;
    }
    let work = read(&request.op, &request.file)?;
    let mut last = None;
    let before = cpu();
    for _ in 0..request.repeat {
        last = Some(peer.run(&work)?);
    }
    let cpu = cpu() - before;
    let (count, sum) = last.ok_or("nothing to do")?.summary();
    Ok(Reply { cpu, count, sum })
}

fn read(op: &str, file: &str) -> Result<Work> {
    Ok(match op {
        "encode" => Work::Encode(fs::read_to_string(file)?.split('\0').map(str::to_owned).collect()),
        "render" => Work::Render(serde_json::from_str(&fs::read_to_string(file)?)?),
        "strict" => Work::Strict(
            fs::read(file)?.chunks_exact(4).map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]])).collect(),
        ),
        _ => return Err(format!("no operation {op}").into()),
    })
}

impl Peer {
    fn encode(&self, text: &str) -> Vec<u32> {
        match self {
            Peer::Bpe(tokenizer) => tokenizer.encode(text),
            Peer::Harmony(encoding) => encoding.tokenizer().encode_ordinary(text),
        }
    }

    fn run(&self, work: &Work) -> Result<Outcome> {
        Ok(match (self, work) {
            (_, Work::Encode(texts)) => Outcome::Ids(texts.iter().map(|text| self.encode(text)).collect()),
            (Peer::Harmony(encoding), Work::Render(conversation)) => Outcome::Ids(vec![
                encoding.render_conversation_for_completion(&conversation.messages, Role::Assistant, None)?,
            ]),
            (Peer::Harmony(encoding), Work::Strict(tokens)) => {
                let mut parser = StreamableParser::new(encoding.clone(), Some(Role::Assistant))?;
                for token in tokens {
                    parser.process(*token)?;
                    std::hint::black_box(parser.last_content_delta()?);
                }
                parser.process_eos()?;
                Outcome::Messages(parser.into_messages())
            }
            _ => return Err("this peer encodes only".into()),
        })
    }
}

impl Outcome {
    /// How many ids, or messages, and a checksum of the ids, or of the messages' texts.
    fn summary(&self) -> (usize, u32) {
        let mut hasher = crc32fast::Hasher::new();
        let count = match self {
            Outcome::Ids(texts) => {
                for id in texts.iter().flatten() {
                    hasher.update(&id.to_le_bytes());
                }
                texts.iter().map(Vec::len).sum()
            }
            Outcome::Messages(messages) => {
                for content in messages.iter().flat_map(|m| &m.content) {
                    if let Content::Text(text) = content {
                        hasher.update(text.text.as_bytes());
                    }
                }
                messages.len()
            }
        };
        (count, hasher.finalize())
    }
}

fn say<T: Serialize>(line: &T) -> Result<()> {
    println!("{}", serde_json::to_string(line)?);
    Ok(())
}

/// The processor time of all threads since the start of the process, in nanoseconds.
fn cpu() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the struct that it is given, and to nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The process's memory that is in use, in bytes.
fn resident() -> Result<i64> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages: i64 = statm.split(' ').nth(1).ok_or("no /proc/self/statm")?.parse()?;
    Ok(pages * 4096)
}
