package main

import (
	"os"
	"testing"
)

// TestPage checks that the page has what the benches' figures give.
func TestPage(t *testing.T) {
	const docs = "../../docs"
	page, err := os.ReadFile(docs + "/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := computed(docs, string(page))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != want {
		t.Error("docs/capacity.md differs from what docs/bench gives; write it by make capacity")
	}
}

// TestTables computes tables from figures that are easy to check by hand.
func TestTables(t *testing.T) {
	edge := parseFigures("# Page\n\n## Paced\n\nText.\n\n| variant | CPU, µs a token | ÷ none |\n|---|---|---|\n" +
		"| none | 20 | |\n| chat | 40.0 | 2.00 [1.9 … 2.1] |\n\n## Small\n\n| variant | CPU, µs a request |\n|---|---|\n" +
		"| chat | 300 |\n")
	want := "| a core does in a second | no filter | this filter |\n|---|---|---|\n" +
		"| tokens of streams, one by one as a model writes them | 50,000 | 25,000 |\n" +
		"| that is, streams of 50 tokens per second | 1,000 | 500 |\n" +
		"| tokens that come faster than they are sent on | – | – |\n" +
		"| small requests, with their answers of 20 tokens | – | 3,330 |\n" +
		"| requests with a prompt of 1,000 tokens | – | – |\n" +
		"| requests with a prompt of 10,000 tokens | – | – |\n" +
		"| requests with a prompt of 100,000 tokens | – | – |\n"
	if got := coreTable(edge).String(); got != want {
		t.Errorf("got\n%s", got)
	}
	const head = "| variant | CPU until then, ms | resident, MiB | with streams, MiB |\n|---|---|---|---|\n"
	workers := parseFigures("## 1 × 100\n\n" + head + "| none | 50 | 60 | 61 |\n| chat | 1500 | 150 | 160 |\n" +
		"## 11 × 1000\n\n" + head + "| none | 100 | 65 | 75 |\n| chat | 2600 | 250 | 300 |\n")
	want = "| memory | no filter | this filter |\n|---|---|---|\n| an Envoy with one worker | 60 MiB | 150 MiB |\n" +
		"| each further worker | 0.5 MiB | 10 MiB |\n| each stream over HTTP/1.1 | 10.2 KiB | 102 KiB |\n" +
		"| each stream over HTTP/2 | 10.2 KiB | 51.2 KiB |\n"
	if got := memoryTable(workers).String(); got != want {
		t.Errorf("got\n%s", got)
	}
	want = "| workers | streams | CPU of the start | ÷ workers | memory | with the streams | ÷ no filter |\n" +
		"|---|---|---|---|---|---|---|\n| 1 | 100 | 1.5 s | 1.5 s | 150 MiB | 160 MiB | 2.62 |\n" +
		"| 11 | 1,000 | 2.6 s | 0.236 s | 250 MiB | 300 MiB | 4 |\n"
	if got := startTable(workers).String(); got != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := replace("no markers", "core", nil); err == nil {
		t.Error("a page without the table is accepted")
	}
}
