package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool of a server.
type Tool struct {
	// Name is as the server has it: it may be no name of a function. It is not empty, and no other tool of the server has
	// it.
	Name, Description string
	// InputSchema is a JSON object. Its members have the server's order.
	InputSchema json.RawMessage
	// ReadOnly reports whether the server says that the tool changes nothing. That may be wrong.
	ReadOnly bool
}

// listing is a server's tools, as one tenant sees them.
type listing struct {
	// ready is closed when tools or err is set.
	ready chan struct{}
	tools []Tool
	err   error

	// The next fields are the pool's, under its lock. size is 0 until the list is ready.
	size        int64
	until, used time.Time
}

// Tools returns the tools of a server. They are kept for a while. The caller does not change them.
func (p *Pool) Tools(ctx context.Context, server *Server, tenant string) ([]Tool, error) {
	if err := server.Validate(); err != nil {
		return nil, err
	}
	l, err := p.list(server, tenant)
	if err != nil {
		return nil, err
	}
	select {
	case <-l.ready:
		return l.tools, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// list returns the list that is kept, or one that is being made. It goes on when its first caller leaves: others may
// wait for it.
func (p *Pool) list(server *Server, tenant string) (*listing, error) {
	k := server.session(tenant)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	now := time.Now()
	l := p.listings[k]
	if l == nil || l.isReady() && now.After(l.until) {
		delete(p.listings, k)
		if !p.makeListRoom(0) {
			return nil, &LimitError{What: "lists of tools at once", Limit: int64(p.limits.Sessions)}
		}
		l = &listing{ready: make(chan struct{})}
		p.listings[k] = l
		go p.fill(l, server.clone(), tenant)
	}
	l.used = now
	return l, nil
}

func (l *listing) isReady() bool {
	select {
	case <-l.ready:
		return true
	default:
		return false
	}
}

// makeListRoom forgets lists that have not been used for the longest time, until one more has room. The caller holds
// the lock.
func (p *Pool) makeListRoom(size int64) bool {
	for {
		var oldest key
		var first *listing
		total := size
		for k, l := range p.listings {
			total += l.size
			if l.isReady() && (first == nil || l.used.Before(first.used)) {
				oldest, first = k, l
			}
		}
		if len(p.listings) < p.limits.Sessions && total <= maxListings {
			return true
		}
		if first == nil {
			return false
		}
		delete(p.listings, oldest)
	}
}

// fill asks the server.
func (p *Pool) fill(l *listing, server *Server, tenant string) {
	limit := &TimeoutError{After: p.terms.Load().Call, What: "the list of tools"}
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit.After, limit)
	defer cancel()
	var size int64
	l.tools, size, l.err = p.listTools(ctx, server, tenant)
	life := p.limits.ListingLife
	if l.err != nil {
		p.log.Debug("a tool server's tools cannot be listed", "server", server.Label, "error", l.err)
		life = min(life, errorLife)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := server.session(tenant); p.listings[k] == l {
		delete(p.listings, k)
		if p.makeListRoom(size) {
			l.size, l.until = size, time.Now().Add(life)
			p.listings[k] = l
		}
	}
	close(l.ready)
}

// relist forgets a list: the server says that it has changed.
func (p *Pool) relist(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.listings[k]; l != nil && l.isReady() {
		delete(p.listings, k)
	}
}

// listTools asks a server for its tools. To list twice does no harm, so a session that turns out to be broken is made
// anew in any case.
func (p *Pool) listTools(ctx context.Context, server *Server, tenant string) (tools []Tool, size int64, err error) {
	for {
		s, reused, err := p.acquire(ctx, server, tenant)
		if err != nil {
			return nil, 0, err
		}
		tools, size, again, err := s.listTools(ctx)
		if again && reused {
			p.drop(s)
			p.release(s)
			continue
		}
		p.release(s)
		return tools, size, err
	}
}

func (s *session) listTools(ctx context.Context) (tools []Tool, size int64, again bool, err error) {
	limits := &s.pool.limits
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		x := &exchange{session: s, limit: min(limits.Listing-size, limits.Message), what: bytesOfList}
		var list page
		var known *mcp.ListToolsResult
		answer, err := s.do(ctx, x, func(ctx context.Context) (err error) {
			known, err = s.client.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			return err
		})
		size += int64(len(answer))
		if err == nil {
			err = list.read(answer, seen, limits.Tools)
			list.dropUncallable(known)
		}
		again = ctx.Err() == nil && (x.refused() || x.unseen() || isConnectionError(err))
		x.close()
		var limit *LimitError
		switch {
		case errors.As(err, &limit) && limit.What == bytesOfList, err == nil && size > limits.Listing:
			return nil, 0, false, &LimitError{What: bytesOfList, Limit: limits.Listing}
		case err != nil:
			return nil, 0, again, err
		}
		tools = append(tools, list.tools...)
		if list.next == "" {
			return tools, size, false, nil
		}
		if len(list.next) > maxCursor || list.next == cursor {
			return nil, 0, false, &ProtocolError{Message: "the server's list of tools has no end"}
		}
		cursor = list.next
	}
	return nil, 0, false, &LimitError{What: "pages of a list of tools", Limit: maxPages}
}

func isConnectionError(err error) bool {
	var c *ConnectionError
	return errors.As(err, &c)
}

// page is a part of a list.
type page struct {
	tools []Tool
	next  string
}

// read reads a page. Tools that cannot be read, or that are there already, are left out.
func (p *page) read(answer []byte, seen map[string]bool, limit int) error {
	var wire struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor string          `json:"nextCursor"`
	}
	if json.Unmarshal(answer, &wire) != nil {
		return &ProtocolError{Message: "the server's list of tools cannot be read"}
	}
	tooMany := &LimitError{What: "tools of a server", Limit: int64(limit)}
	all, more, err := elements(wire.Tools, limit)
	switch {
	case err != nil:
		return &ProtocolError{Message: "the server's list of tools cannot be read"}
	case more:
		return tooMany
	}
	for _, raw := range all {
		t, ok := readTool(raw)
		if !ok || seen[t.Name] {
			continue
		}
		if seen[t.Name] = true; len(seen) > limit {
			return tooMany
		}
		p.tools = append(p.tools, t)
	}
	p.next = wire.NextCursor
	return nil
}

// dropUncallable drops the tools with arguments that are to be sent as headers, and that the SDK has left out: MCP says
// that a client does not offer a tool whose x-mcp-header is wrong.
func (p *page) dropUncallable(known *mcp.ListToolsResult) {
	p.tools = slices.DeleteFunc(p.tools, func(t Tool) bool {
		return bytes.Contains(t.InputSchema, []byte(headerAnnotation)) && (known == nil ||
			!slices.ContainsFunc(known.Tools, func(k *mcp.Tool) bool { return k.Name == t.Name }))
	})
}

// headerAnnotation marks an argument that is sent as a header too.
const headerAnnotation = `"x-mcp-header"`

func readTool(raw json.RawMessage) (Tool, bool) {
	var wire struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
		Annotations struct {
			ReadOnlyHint bool `json:"readOnlyHint"`
		} `json:"annotations"`
	}
	if json.Unmarshal(raw, &wire) != nil || wire.Name == "" {
		return Tool{}, false
	}
	var schema bytes.Buffer
	if len(wire.InputSchema) == 0 || wire.InputSchema[0] != '{' || json.Compact(&schema, wire.InputSchema) != nil {
		schema.Reset()
		schema.WriteString(`{"type":"object","properties":{}}`)
	}
	return Tool{Name: wire.Name, Description: wire.Description, InputSchema: schema.Bytes(),
		ReadOnly: wire.Annotations.ReadOnlyHint}, true
}

// elements returns the elements of an array, and whether it has more than the limit.
func elements(array json.RawMessage, limit int) (all []json.RawMessage, more bool, err error) {
	if len(array) == 0 || string(array) == "null" {
		return nil, false, nil
	}
	d := json.NewDecoder(bytes.NewReader(array))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, false, errNotArray
	}
	for d.More() {
		if len(all) == limit {
			return all, true, nil
		}
		var e json.RawMessage
		if err := d.Decode(&e); err != nil {
			return nil, false, err
		}
		all = append(all, e)
	}
	return all, false, nil
}

var errNotArray = errors.New("it is not an array")
