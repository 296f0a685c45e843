package responses

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/services/responses/quota"
	"github.com/harmonyedge/harmonyedge/services/responses/store"
)

// TestReadersAreCharged: what is read from the store takes memory like everything else, before it is read.
func TestReadersAreCharged(t *testing.T) {
	f := start(t, Options{Settings: Settings{Memory: 1 << 20}})
	id := f.create(`"input":"x","background":true,"stream":false`)
	await(t, func() bool {
		_, body := f.do("GET", "/v1/responses/"+id, "")
		return strings.Contains(body, `"completed"`)
	})
	_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"x","background":true,"stream":true}`)
	_, rest, _ := strings.Cut(body, `"id":"`)
	streamed, _, _ := strings.Cut(rest, `"`)
	_, body = f.do("POST", "/v1/conversations", `{"items":[{"role":"user","content":"x"}]}`)
	var c struct{ ID string }
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		t.Fatal(err)
	}
	_, body = f.do("GET", "/v1/conversations/"+c.ID+"/items", "")
	var list struct {
		First string `json:"first_id"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.First == "" {
		t.Fatal(body)
	}
	await(t, func() bool { return f.s.memory.InUse() == 0 })
	if f.s.memory.Take(store.TenantOf(""), 1<<20-300) != quota.Granted {
		t.Fatal("the memory is not free")
	}
	paths := []string{"/v1/responses/" + id, "/v1/responses/" + id + "/input_items",
		"/v1/responses/" + streamed + "?stream=true",
		"/v1/conversations/" + c.ID + "/items", "/v1/conversations/" + c.ID + "/items/" + list.First}
	for _, path := range paths {
		answer, err := http.Get(f.url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != 429 || answer.Header.Get("retry-after") == "" {
			t.Errorf("%s: %d %v", path, answer.StatusCode, answer.Header)
		}
	}
	f.s.memory.Give(store.TenantOf(""), 1<<20-300)
	for _, path := range paths {
		if status, body := f.do("GET", path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	await(t, func() bool { return f.s.memory.InUse() == 0 })
}

// TestFollowerThatDoesNotRead: a stream is read from the store in pieces, and only when its client has taken the last.
func TestFollowerThatDoesNotRead(t *testing.T) {
	const size = 12 << 20
	text := strings.Repeat("x", 64<<10)
	f := startAt(t, Options{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		first, rest, _ := strings.Cut(answered, "\n\n")
		fmt.Fprint(w, first, "\n\n")
		for range size / len(text) {
			fmt.Fprintf(w, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":%q}\n\n", text)
		}
		fmt.Fprint(w, rest)
	}))
	_, whole := f.do("POST", "/v1/responses", `{"model":"m","input":"x","background":true,"stream":true}`)
	_, rest, _ := strings.Cut(whole, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	await(t, func() bool { return f.s.memory.InUse() == 0 })
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/responses/%s?stream=true HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", id)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	defer answer.Body.Close()
	most := int64(0)
	await(t, func() bool { // it is held where the client's buffers are full
		now := f.s.memory.InUse()
		most = max(most, now)
		return now > 0
	})
	got, err := io.ReadAll(answer.Body)
	if err != nil || string(got) != whole || len(got) < size {
		t.Errorf("%d bytes, want %d: %v", len(got), len(whole), err)
	}
	if most > readCopies*(1<<20+128<<10) {
		t.Errorf("a follower takes %d bytes", most)
	}
	await(t, func() bool { return f.s.memory.InUse() == 0 })
}
