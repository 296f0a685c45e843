package rustfrontend

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
)

// maxFrame bounds a frame from a peer, in bytes. The largest message is a prompt that fills the context.
const maxFrame = 64 << 20

// socket is a ZeroMQ socket with one peer, by ZMTP 3.0 without security: what a connecting DEALER or PUSH needs.
type socket struct {
	conn net.Conn
	in   *bufio.Reader
	mu   sync.Mutex // guards writing
}

// dial connects as a socket of this kind. identity identifies a DEALER to its ROUTER, and may be empty.
func dial(network, address, kind string, identity []byte) (*socket, error) {
	conn, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn, in: bufio.NewReader(conn)}
	if err := s.handshake(kind, identity); err != nil {
		_ = conn.Close() // the first error has the cause
		return nil, fmt.Errorf("ZMTP handshake with %s: %w", address, err)
	}
	return s, nil
}

// handshake exchanges greetings and READY commands: https://rfc.zeromq.org/spec/23.
func (s *socket) handshake(kind string, identity []byte) error {
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	if _, err := s.conn.Write(greeting); err != nil {
		return err
	}
	theirs := make([]byte, len(greeting))
	if _, err := io.ReadFull(s.in, theirs); err != nil {
		return err
	}
	if theirs[0] != 0xff || theirs[9]&1 == 0 || theirs[10] < 3 || !bytes.HasPrefix(theirs[12:], []byte("NULL\x00")) {
		return fmt.Errorf("the peer's greeting is % x", theirs)
	}
	ready := []byte("\x05READY")
	ready = appendProperty(ready, "Socket-Type", []byte(kind))
	ready = appendProperty(ready, "Identity", identity)
	if err := s.write(frameCommand, ready); err != nil {
		return err
	}
	flags, body, err := s.readFrame()
	if err != nil {
		return err
	}
	if flags&frameCommand == 0 || !bytes.HasPrefix(body, []byte("\x05READY")) {
		return fmt.Errorf("the peer is not ready: %q", body)
	}
	return nil
}

func appendProperty(dst []byte, name string, value []byte) []byte {
	dst = append(append(dst, byte(len(name))), name...)
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(value))), value...)
}

// The bits of a frame's flags.
const (
	frameMore    = 1
	frameLong    = 2
	frameCommand = 4
)

func (s *socket) write(flags byte, body []byte) error {
	head := []byte{flags | frameLong}
	head = binary.BigEndian.AppendUint64(head, uint64(len(body)))
	_, err := s.conn.Write(append(head, body...))
	return err
}

// send sends a message of one frame.
func (s *socket) send(body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(0, body)
}

// receive returns the frames of the next message. It ignores commands, such as a peer's PING.
func (s *socket) receive() ([][]byte, error) {
	var frames [][]byte
	for {
		flags, body, err := s.readFrame()
		if err != nil {
			return nil, err
		}
		if flags&frameCommand != 0 {
			continue
		}
		frames = append(frames, body)
		if flags&frameMore == 0 {
			return frames, nil
		}
	}
}

func (s *socket) readFrame() (flags byte, body []byte, err error) {
	if flags, err = s.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	var size uint64
	if flags&frameLong != 0 {
		err = binary.Read(s.in, binary.BigEndian, &size)
	} else {
		var short byte
		short, err = s.in.ReadByte()
		size = uint64(short)
	}
	if err != nil {
		return 0, nil, err
	}
	if size > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(s.in, body)
	return flags, body, err
}

func (s *socket) close() { _ = s.conn.Close() }
