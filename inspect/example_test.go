package inspect_test

import (
	"log"
	"os"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/inspect"
)

// Each line is answered with one line that repeats its id.
func Example() {
	lines := strings.NewReader(`{"id":1,"tokens":[200005,17196,200008,12194,200002]}
{"id":2,"text":"<|channel|>analysis<|message|>Hm"}
`)
	if _, err := inspect.Run(lines, os.Stdout, inspect.ParseTyped, o200k.Tokenizer()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"id":1,"content":[{"type":"text","text":"Hi"}],"recoveries":{}}
	// {"id":2,"content":[{"type":"reasoning","text":"Hm"}],"recoveries":{}}
}
