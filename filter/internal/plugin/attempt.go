package plugin

import (
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/opening"
)

// attempt is one attempt at a server. The proxy runs it behind its retries, so what it makes of the answer decides
// whether another server is asked. The [stream] in front sees only the last attempt.
//
// The host does not tell an attempt that it has ended. The note that a lost one leaves for the next is therefore
// written before it is lost, and is taken back when there is an answer.
//
// Whether a server has got a request can be seen only from outside of the host's calls, at a tick, unless the host had
// a connection already. A further attempt therefore waits for its connection: it is not sent before it is written down.
type attempt struct {
	types.DefaultHttpContext
	of *attempts
	id uint32
	// at is the attempt's place among those awaited, counted from 1, or 0.
	at int
	contract.Attempt
	// lost is what the attempts before this one have left of themselves.
	lost string
	// opening reads the answer while its headers are held. Otherwise it is nil.
	opening *opening.Reader
	// read is how much of the held answer has been read, in bytes.
	read int
	// sent is when the request was sent, in milliseconds since 1970.
	sent int64
	// noted and silent report whether the attempt has been written down as one that is lost, and as a silent one. waits
	// reports whether it waits for its connection.
	noted, silent, waits bool
}

// The statuses that a client gets for a request that is given up.
const (
	statusBroken = 503
	statusSilent = 504
)

// OnHttpRequestHeaders implements [types.HttpContext].
func (a *attempt) OnHttpRequestHeaders(int, bool) types.Action {
	text, err := readProperty(contract.AttemptState)
	if err != nil {
		return types.ActionContinue // of a request whose answer passes
	}
	var ok bool
	if a.Attempt, ok = contract.ParseAttempt(string(text)); !ok {
		return types.ActionContinue
	}
	if text, err = readProperty(contract.LostState); err == nil {
		a.lost = string(text)
	}
	lost := contract.ParseLost(a.lost)
	if lost.Last != "" {
		a.of.report(a, lost.Last, lost.How(), now())
	}
	if lost.Over() {
		// The client gets this reply at once: the proxy asks no other server after it.
		status := uint32(statusBroken)
		if lost.Silent > 0 {
			status = statusSilent
		}
		header := [][2]string{{contract.FailedHeader, contract.GivenUp}}
		check("send reply", proxywasm.SendHttpResponse(status, header, nil, -1))
		return types.ActionPause
	}
	a.sent = now()
	a.of.await(a)
	if a.connected() {
		a.note()
		return types.ActionContinue
	}
	a.leave(contract.UnsentMark)
	if a.lost == "" {
		return types.ActionContinue
	}
	a.waits = true
	return actionPauseAll
}

// actionPauseAll holds the headers, and what comes after them without a call. The SDK has no name for it. Envoy's is
// StopAllIterationAndWatermark.
const actionPauseAll types.Action = 4

// connected reports whether the host has a connection to the server.
func (a *attempt) connected() bool {
	_, err := readProperty(localAddress)
	return err == nil
}

const localAddress = "upstream\x00local_address"

// OnHttpResponseHeaders implements [types.HttpContext].
func (a *attempt) OnHttpResponseHeaders(_ int, end bool) types.Action {
	if a.Kind == "" {
		return types.ActionContinue
	}
	headers, err := readResponseHeaders()
	check("read response headers", err)
	status, _ := find(headers, ":status")
	contentType, _ := find(headers, "content-type")
	if strings.HasPrefix(status, "2") { // an answer without a body has another status than 200
		a.opening = opening.New(a.Kind, contentType)
	}
	if a.opening == nil {
		a.of.forget(a)
		setLost(a.lost)
		return types.ActionContinue
	}
	if !a.noted {
		a.note()
	}
	if end {
		return a.judge(nil, true)
	}
	return types.ActionPause
}

// OnHttpResponseBody implements [types.HttpContext]. size is how much the host holds.
func (a *attempt) OnHttpResponseBody(size int, end bool) types.Action {
	if a.opening == nil {
		return types.ActionContinue
	}
	var piece []byte
	if size > a.read {
		var err error
		piece, err = readPart(true, a.read, size-a.read)
		check("read response body", err)
		a.read = size
	}
	return a.judge(piece, end)
}

// OnHttpResponseTrailers implements [types.HttpContext].
func (a *attempt) OnHttpResponseTrailers(int) types.Action {
	if a.opening == nil {
		return types.ActionContinue
	}
	return a.judge(nil, true)
}

// judge reads a piece of the answer, and decides whether it is held any longer.
func (a *attempt) judge(piece []byte, end bool) types.Action {
	verdict := a.opening.Write(piece, end)
	if verdict == opening.Undecided {
		return types.ActionPause
	}
	a.opening = nil
	a.of.forget(a)
	if !verdict.Failed() {
		return types.ActionContinue
	}
	address, _ := readProperty(upstream)
	a.of.report(a, string(address), verdict.String(), now())
	setLost(a.lost)
	check("set status", proxywasm.ReplaceHttpResponseHeader(":status", failedStatus))
	check("set header", proxywasm.ReplaceHttpResponseHeader(contract.FailedHeader, verdict.String()))
	return types.ActionContinue
}

const failedStatus = "503" // contract.FailedStatus

// note writes the attempt down as one that is lost, unless an answer takes it back.
func (a *attempt) note() {
	mark := ""
	if a.silent {
		mark = contract.SilentMark
	}
	a.leave(mark)
	a.noted = true
}

// leave writes down what the next attempt reads if this one is lost.
func (a *attempt) leave(mark string) {
	address, _ := readProperty(upstream)
	entry := string(address) + mark
	if a.lost != "" {
		entry = a.lost + " " + entry
	}
	setLost(entry)
}

func setLost(text string) {
	check("set "+contract.LostState, writeProperty(contract.LostState, []byte(text)))
}
