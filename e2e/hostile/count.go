package hostile

import "strings"

// countFamilies returns requests that are answered without a server: token counts and their errors.
func countFamilies() []Family {
	const count = "/v1/responses/input_tokens"
	text := func(name string, p piece) Family {
		return inResponses("", `"input":"`, `"`, "", p).at(count, "input_tokens: "+name)
	}
	tokenize := func(name, before, after, separator string, p piece) Family {
		return inChat("", before, after, separator, p).at("/tokenize", "tokenize: "+name)
	}
	detokenize := func(name, before, after, separator string, p piece) Family {
		return inChat("", before, after, separator, p).at("/detokenize", "detokenize: "+name)
	}
	return []Family{
		text("random letters", letters(small, 64)),
		text("words", words),
		text("spaces", same(strings.Repeat(" ", 64))),
		text("line ends", same(strings.Repeat(`\n`, 32))),
		text("combining marks", between(0x300, 0x36f, 32)),
		inResponses("", `"input":[{"role":"user","content":[`, `]}]`, ",", same(`{"type":"input_text","text":"a"}`)).at(
			count, "input_tokens: text parts"),
		inResponses("", `"truncation":"auto","input":[`, `]`, ",",
			around(`{"role":"user","content":"`, letters(small, 4000), `"}`)).at(
			count, "input_tokens: truncation of long turns"),
		tokenize("random letters", `"prompt":"`, `"`, "", letters(small, 64)),
		tokenize("words with strings", `"return_token_strs":true,"prompt":"`, `"`, "", words),
		tokenize("spaces", `"prompt":"`, `"`, "", same(strings.Repeat(" ", 64))),
		tokenize("control tokens", `"prompt":"`, `"`, "", same("<|start|>")),
		tokenize("beginnings of control tokens", `"prompt":"`, `"`, "", same("<|reserved_20001<|")),
		tokenize("messages", `"messages":[{"role":"user","content":"`, `"}]`, "", letters(small, 64)),
		tokenize("messages without a prompt", `"add_generation_prompt":false,"messages":[{"role":"user","content":"`, `"}]`,
			"", letters(small, 64)),
		detokenize("ids", `"tokens":[`, `]`, ",", numbered("%d")),
		detokenize("one id", `"tokens":[`, `]`, ",", same("1")),
		detokenize("long tokens", `"tokens":[`, `]`, ",", same("72056")),
		detokenize("ids that are none", `"tokens":[`, `]`, ",", same("4000000000")),
		detokenize("white space", `"tokens":[`, `]`, " , ", same("1")),
	}
}

// otherFamilies returns requests that the gateway passes through or refuses unread.
func otherFamilies() []Family {
	raw := Family{head: `{"model":"` + Model + `","prompt":"`, tail: `"}`, piece: letters(small, 64)}
	other := Family{head: `{"model":"` + Other + `","messages":[{"role":"user","content":"`, tail: `"}]}`, piece: words}
	last := Family{head: `{"messages":[{"role":"user","content":"`, tail: `"}],"model":"` + Other + `"}`, piece: words}
	ids := Family{head: `{"model":"` + Other + `","prompt":[`, tail: `]}`, separator: ",", piece: numbered("%d")}
	junk := Family{piece: same("\x00\x01\x02\x03")}
	deep := Family{piece: same("[")}
	return []Family{
		raw.at("/v1/completions", "raw prompt"),
		raw.at("/generate", "raw prompt at a server's path"),
		ids.at("/v1/completions", "another model's raw prompt of ids"),
		other.at("/v1/chat/completions", "another model's chat"),
		last.at("/v1/chat/completions", "another model's chat, named last"),
		other.at("/v1/responses", "another model's response"),
		other.at("/tokenize", "another model's text to count"),
		other.at("/v1/embeddings", "a path that is not the gateway's"),
		junk.at("/v1/chat/completions", "no JSON"),
		deep.at("/v1/responses", "brackets"),
		{Name: "spaces", Path: "/v1/chat/completions", piece: same(" ")},
	}
}
