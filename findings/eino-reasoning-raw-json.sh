#!/usr/bin/env bash
# eino's Chat client and a server that calls the model's reasoning `reasoning`, as vLLM and others do.
#
# Software: github.com/cloudwego/eino-ext/components/model/openai v0.1.7 with sonic v1.15.5 (Go modules; with the sonic
# that it asks for it does not compile with Go 1.26). The server streams the reasoning "The user" + " waits.", first as
# `reasoning_content` and then as `reasoning`.
# A good guess: both names give the same text, or the second one gives nothing.
# Seen: `reasoning_content` gives: The user waits. `reasoning` gives the raw JSON of each piece, with its quotation
# marks: "The user"" waits."
# Consequence: a gateway for eino sends `reasoning_content` (or both; eino then takes `reasoning_content`).
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/schema"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	field := "reasoning"
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		for _, delta := range []string{`{"role":"assistant","content":""}`, `{"` + field + `":"The user"}`, `{"` + field + `":" waits."}`, `{"content":"Hi."}`} {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", delta)
		}
		fmt.Fprint(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	for _, field = range []string{"reasoning_content", "reasoning"} {
		model, err := openai.NewChatModel(context.Background(), &openai.ChatModelConfig{APIKey: "k", BaseURL: "http://" + l.Addr().String() + "/v1", Model: "m"})
		if err != nil {
			panic(err)
		}
		stream, err := model.Stream(context.Background(), []*schema.Message{schema.UserMessage("Hello")})
		if err != nil {
			panic(err)
		}
		reasoning, text := "", ""
		for {
			m, err := stream.Recv()
			if err == io.EOF {
				break
			}
			if err != nil {
				panic(err)
			}
			reasoning += m.ReasoningContent
			text += m.Content
		}
		fmt.Printf("%s: reasoning <%s>, text <%s>\n", field, reasoning, text)
	}
}
GO
printf 'module try\n\ngo 1.26\n' >go.mod
go get github.com/cloudwego/eino-ext/components/model/openai@v0.1.7 github.com/bytedance/sonic@v1.15.5 2>/dev/null
go mod tidy 2>/dev/null
seen="$(go run .)"
echo "$seen"
[[ "$seen" == 'reasoning_content: reasoning <The user waits.>, text <Hi.>
reasoning: reasoning <"The user"" waits.">, text <Hi.>' ]] || { echo "This has changed."; exit 1; }
