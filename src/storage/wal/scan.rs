//! Going through the frames of one file.

use super::frame::{FRAME_HEADER, Frame, Seed};
use crate::storage::codec::crc;

/// A place in a file's bytes.
pub struct Scan<'a> {
    bytes: &'a [u8],
    seed: Seed,
    /// Offset of the frame last found.
    pub at: usize,
}

impl<'a> Scan<'a> {
    /// How many bytes there are to go through.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn new(bytes: &'a [u8], seed: Seed, at: usize) -> Self {
        Self { bytes, seed, at }
    }

    /// Moves to the next readable frame; also gives where the place was before. Where there is no frame, each next multiple
    /// of 8 is looked at.
    pub fn next_frame(&mut self) -> Option<(usize, Frame)> {
        let from = self.at;
        let mut at = self.at;
        while at + FRAME_HEADER <= self.bytes.len() {
            if let Some(frame) = self.frame_at(at) {
                self.at = at;
                return Some((from, frame));
            }
            at += 8;
        }
        None
    }

    /// Moves behind the frame that is here.
    pub fn pass(&mut self, frame: &Frame) {
        self.at += frame.size() as usize;
    }

    fn frame_at(&self, at: usize) -> Option<Frame> {
        let frame = Frame::decode(self.bytes.get(at..)?, self.seed)?;
        let payload = self.payload(at, &frame);
        (payload.len() == frame.payload_len as usize && crc(&[payload]) == frame.payload_crc).then_some(frame)
    }

    /// The payload of the frame at an offset; empty where the file ends before it.
    pub fn payload(&self, at: usize, frame: &Frame) -> &'a [u8] {
        let start = at + FRAME_HEADER;
        self.bytes.get(start..start + frame.payload_len as usize).unwrap_or_default()
    }
}
