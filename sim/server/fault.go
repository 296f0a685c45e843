package server

import (
	"fmt"
	"strconv"
	"strings"
)

// FaultKind is a way to fail.
type FaultKind string

// The faults, with their spellings for [ParseFault]. N is the number of tokens sent before the fault.
const (
	NoFault FaultKind = "none"
	// FaultStatus is "status:CODE" or "status:CODE:RETRY_AFTER": an error in vLLM's form instead of an answer.
	FaultStatus FaultKind = "status"
	// FaultDrop is "drop": the connection ends before any header of the answer (HTTP/2: RST_STREAM).
	FaultDrop FaultKind = "drop"
	// FaultMute is "mute": no header of the answer is sent until the client disconnects or the server is closed.
	FaultMute FaultKind = "mute"
	// FaultErrorEvent is "error-event:N": vLLM's error event, then [DONE].
	FaultErrorEvent FaultKind = "error-event"
	// FaultEngineDead is "engine-dead:N": like error-event, in the words of a vLLM whose engine was killed.
	FaultEngineDead FaultKind = "engine-dead"
	// FaultClose is "close:N": the connection ends without the last chunk (HTTP/2: RST_STREAM). Data that was sent before
	// arrives.
	FaultClose FaultKind = "close"
	// FaultReset is "reset:N": like close, but with a TCP reset, which may overtake what was sent before.
	FaultReset FaultKind = "reset"
	// FaultStall is "stall:N": nothing more is sent until the client disconnects or the server is closed.
	FaultStall FaultKind = "stall"
	// FaultError200 is "error-200-json": status 200 with an error as the JSON body, streaming or not.
	FaultError200 FaultKind = "error-200-json"
	// FaultGarbage is "garbage:N": an event that is neither JSON nor UTF-8. The stream continues after it.
	FaultGarbage FaultKind = "garbage"
	// FaultNoFinish is "no-finish:N": the stream ends properly (HTTP/1.1: delimited by the close) without finish or
	// [DONE].
	FaultNoFinish FaultKind = "no-finish"
	// FaultAbort is "abort:N": the answer ends with the finish reason abort, as one does whose server is being shut down.
	FaultAbort FaultKind = "abort"
	// FaultTrailers is "trailers": a complete answer with HTTP trailers after it.
	FaultTrailers FaultKind = "trailers"
)

// Fault is a failure of an answer. The zero Fault is no failure.
type Fault struct {
	Kind FaultKind
	// After is the number of tokens sent before the fault.
	After int
	// Status and RetryAfter belong to [FaultStatus].
	Status     int
	RetryAfter string
}

// FaultHelp lists the faults for a command's help.
const FaultHelp = `none
status:CODE[:RETRY_AFTER]  answer CODE with an error in vLLM's shape
drop                       end the connection before any header
mute                       send no header
error-event:N              after N tokens vLLM's error event, then [DONE]
engine-dead:N              the same in the words of a vLLM whose engine was killed
close:N                    after N tokens end the connection without the last chunk
reset:N                    after N tokens reset the connection
stall:N                    after N tokens fall silent
error-200-json             status 200 with an error as the body
garbage:N                  after N tokens an event that is not JSON, then go on
no-finish:N                after N tokens a clean end without finish or [DONE]
abort:N                    after N tokens the finish reason abort
trailers                   a good answer, then HTTP trailers`

// ParseFault reads the spelling of a fault.
func ParseFault(s string) (Fault, error) {
	parts := strings.SplitN(s, ":", 3)
	f := Fault{Kind: FaultKind(parts[0])}
	bad := func(why string) (Fault, error) { return Fault{}, fmt.Errorf("fault %q: %s", s, why) }
	switch f.Kind {
	case "", NoFault:
		return Fault{}, nil
	case FaultError200, FaultTrailers, FaultDrop, FaultMute:
		if len(parts) > 1 {
			return bad("takes no number")
		}
		return f, nil
	case FaultStatus:
		if len(parts) < 2 {
			return bad("needs a status code")
		}
		code, err := strconv.Atoi(parts[1])
		if err != nil || code < 200 || code > 599 {
			return bad("the status code is 200 to 599")
		}
		f.Status = code
		if len(parts) == 3 {
			f.RetryAfter = parts[2]
		}
		return f, nil
	case FaultErrorEvent, FaultEngineDead, FaultClose, FaultReset, FaultStall, FaultGarbage, FaultNoFinish, FaultAbort:
		if len(parts) != 2 {
			return bad("needs the number of tokens sent before it")
		}
		n, err := strconv.Atoi(parts[1])
		if err != nil || n < 0 {
			return bad("the number of tokens is 0 or more")
		}
		f.After = n
		return f, nil
	}
	return bad("no such fault")
}

// strikesMidStream reports whether the fault has a place in the stream of tokens.
func (f Fault) strikesMidStream() bool {
	switch f.Kind {
	case FaultErrorEvent, FaultEngineDead, FaultClose, FaultReset, FaultStall, FaultGarbage, FaultNoFinish:
		return true
	}
	return false
}

// refusal returns the error that the fault puts into a stream, or answers with.
func (f Fault) refusal() *Refusal {
	r := failure(500)
	if f.Kind == FaultEngineDead {
		r.Message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
	}
	return r
}
