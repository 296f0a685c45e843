package backend

import (
	"bytes"
	"testing"
)

func TestTokenCount(t *testing.T) {
	for _, tc := range []struct {
		answer string
		count  int
		ok     bool
	}{
		{`{"count":12,"max_model_len":4096,"tokens":[1,2],"token_strs":null}`, 12, true},
		{` { "tokens" : [ 1 , {"count":7} ], "token_strs":["count","\"count\":8"], "count" : 0 } `, 0, true},
		{`{"x":{"count":7},"y":"count","count":5}`, 5, true},
		{`{"count":5,"count":6}`, 6, true},
		{`{"count":5}`, 5, true},
		{`{"\"count":5}`, 0, false},
		{`{"counts":5}`, 0, false},
		{`{"coun":5}`, 0, false},
		{`{"acount":5}`, 0, false},
		{`{"count":-5}`, 0, false},
		{`{"count":1.5}`, 0, false},
		{`{"count":"5"}`, 0, false},
		{`{"count":[5]}`, 0, false},
		{`{"count":null}`, 0, false},
		{`{"count":99999999999999999999}`, 0, false},
		{`{"count":5`, 0, false},
		{`{"count":5,"tokens":[1`, 0, false},
		{`["count",5]`, 0, false},
		{`}{"count":5}`, 0, false},
		{`<html>`, 0, false},
		{``, 0, false},
	} {
		for cut := range len(tc.answer) + 1 {
			var c TokenCount
			c.Write([]byte(tc.answer[:cut]))
			c.Write([]byte(tc.answer[cut:]))
			if n, ok := c.Count(); ok != tc.ok || ok && n != tc.count {
				t.Errorf("%s, cut at %d: %d, %v", tc.answer, cut, n, ok)
			}
		}
		var c TokenCount
		if allocated := testing.AllocsPerRun(1, func() { c.Write(bytes.Repeat([]byte(tc.answer), 3)) }); allocated > 2 {
			t.Errorf("%s: %v allocations", tc.answer, allocated)
		}
	}
}
