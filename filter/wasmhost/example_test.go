package wasmhost_test

import (
	"fmt"
	"log"
	"os"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// router sends every request to one cluster.
type router struct{}

func (router) Route(*wasmhost.Headers) *wasmhost.Route { return &wasmhost.Route{Cluster: "server"} }
func (router) HasCluster(name string) bool             { return name == "server" }

// The driver of a stream pushes both sides in, piece by piece, and takes out the events to act on.
func Example() {
	wasm, err := os.ReadFile("testdata/greeter.wasm") // a filter that adds its configuration to responses as x-greeting
	if err != nil {
		log.Fatal(err)
	}
	host, err := wasmhost.New(wasm, wasmhost.Plugin{Name: "greeter", Configuration: []byte("hello")}, wasmhost.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	worker, err := host.NewWorker()
	if err != nil {
		log.Fatal(err)
	}
	defer worker.Close()

	stream := worker.Open(wasmhost.StreamOptions{Router: router{}, Protocol: "HTTP/1.1"})
	stream.RequestHeaders(wasmhost.NewHeaders(
		":method", "GET", ":path", "/", ":authority", "example.com", ":scheme", "http"), true)
	stream.ResponseHeaders(wasmhost.NewHeaders(":status", "200"), false)
	stream.ResponseData([]byte("done"), true)
	for _, event := range stream.Take() {
		switch event.Kind {
		case wasmhost.HeadersKind:
			fmt.Printf("headers to %s, x-greeting %q\n", event.To, event.Headers.Get("x-greeting"))
		case wasmhost.DataKind:
			fmt.Printf("data to %s, %q\n", event.To, event.Data)
		}
	}
	fmt.Println("done:", stream.Done())
	// Output:
	// headers to server, x-greeting ""
	// headers to client, x-greeting "hello"
	// data to client, "done"
	// done: true
}
