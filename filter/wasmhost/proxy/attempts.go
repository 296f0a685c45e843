package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
)

// Hold is what reads the beginnings of answers to know whether another server is asked. It stands for what Envoy does
// with a filter among the router's.
type Hold struct {
	// Begin returns what reads an answer with status 200, or nil if the answer is not held. held is [wasmhost.Event.Held].
	Begin func(held, contentType string) Opening
	// Failed is called with each attempt that has failed while its answer was held: at which server, and how, as an
	// [Opening] says it, or empty for a server that has broken off, or was silent. It may be nil.
	Failed func(held, address, how string, silent bool)
	// MaxLost is how many servers may break off an answer, or be silent, before the request is given up.
	MaxLost int
}

// Opening reads the next piece of an answer. It returns whether the answer is held no longer, and how it has then
// failed, or "" if it has not. It may change the piece. end reports whether the piece is the last one.
type Opening func(piece []byte, end bool) (decided bool, failed string)

// attempts are those at the servers of a cluster for one request.
type attempts struct {
	*cluster
	// hashed is the text by which a server is chosen, or empty.
	hashed string
	// again are the statuses of answers after which another server is asked.
	again []int
	// hold and held are set if answers are held, and idle is how long a server may then be silent.
	hold *Hold
	held string
	idle time.Duration
	// make makes the request for a server.
	make  func(*endpoint) *http.Request
	tried []*endpoint
	lost  int
}

// errSilent is the error of a server that has sent nothing while its answer was held.
var errSilent = errors.New("the server was silent")

// send sends a request to a server of the cluster, to the same one as others with the same text in hashed, if there is
// one. If no server has begun to work on the request, it tries the next one. The caller must call release when it has
// read the response.
func (a *attempts) send(ctx context.Context) (response *http.Response, release func(), err error) {
	err = errNoServer
	for left := a.retries; left >= 0; left-- {
		e := a.choose(a.hashed, a.tried)
		if e == nil {
			if len(a.tried) == 0 || a.inUse() > 1 {
				break
			}
			e = a.tried[0]
		}
		a.tried = append(a.tried, e)
		if response != nil { // an answer after which another server is asked
			response.Body.Close()
			release()
		}
		var again bool
		if response, release, again, err = a.try(ctx, e); !again {
			break
		}
	}
	return response, release, err
}

// try makes one attempt. again reports whether another server is to be asked.
func (a *attempts) try(ctx context.Context, e *endpoint) (
	response *http.Response, release func(), again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := func() bool { return true }
	if a.hold != nil && a.idle > 0 {
		stop = time.AfterFunc(a.idle, func() { cancel(errSilent) }).Stop
	}
	e.active.Add(1)
	release = func() {
		stop()
		cancel(nil)
		e.active.Add(-1)
	}
	response, err = e.transport.RoundTrip(a.make(e).WithContext(ctx))
	failed := false
	if err == nil {
		failed = slices.Contains(a.Outliers.Statuses, response.StatusCode)
		again = slices.Contains(a.again, response.StatusCode)
		if a.hold != nil && response.StatusCode/100 == 2 {
			var how string
			if how, err = a.read(response); err != nil {
				response.Body.Close()
			} else if failed = how != ""; failed {
				a.report(e, how, false)
			}
			again = failed
		}
	}
	if err == nil {
		stop()
		e.record.count(failed, &a.Outliers, a.now())
		return response, release, again && len(a.tried) < a.inUse(), nil
	}
	silent := errors.Is(context.Cause(ctx), errSilent)
	left := ctx.Err() != nil && !silent // by the client
	if silent {
		err = errSilent
	}
	release()
	e.record.count(!left, &a.Outliers, a.now())
	if left {
		return nil, nil, false, err
	}
	var unconnected connectError
	if errors.As(err, &unconnected) {
		return nil, nil, true, err
	}
	a.report(e, "", silent)
	return nil, nil, a.mayRepeat(), err
}

// report tells of an attempt that has failed while its answer was held.
func (a *attempts) report(e *endpoint, how string, silent bool) {
	if a.hold != nil && a.hold.Failed != nil {
		a.hold.Failed(a.held, e.Address, how, silent)
	}
}

// mayRepeat reports whether another server is asked after an attempt that was lost.
func (a *attempts) mayRepeat() bool {
	if a.hold == nil || len(a.tried) >= a.inUse() {
		return false
	}
	a.lost++
	return a.lost < a.hold.MaxLost
}

// read reads the answer until it is held no longer, and returns how it has failed, or "". The bytes that were read are
// in front of the body again.
func (a *attempts) read(r *http.Response) (failed string, err error) {
	opening := a.hold.Begin(a.held, r.Header.Get("Content-Type"))
	if opening == nil {
		return "", nil
	}
	var read []byte
	buffer := make([]byte, 8<<10)
	for {
		n, err := r.Body.Read(buffer)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return "", io.EOF // as if it had come before the headers
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		read = append(read, buffer[:n]...)
		decided, failed := opening(buffer[:n], err != nil)
		if decided || err != nil {
			r.Body = &replayed{ReadCloser: r.Body, read: read}
			return failed, nil
		}
	}
}

// replayed is a body of which a part was read before.
type replayed struct {
	io.ReadCloser
	read []byte
}

// Read implements [io.Reader].
func (r *replayed) Read(p []byte) (int, error) {
	if len(r.read) == 0 {
		return r.ReadCloser.Read(p)
	}
	n := copy(p, r.read)
	r.read = r.read[n:]
	return n, nil
}
