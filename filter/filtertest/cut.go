package filtertest

import (
	"fmt"
	"iter"
)

// Cuts returns an iterator over ways in which the network may cut a body: whole, in two at every place, and byte by
// byte. A filter must behave the same for all of them.
//
//	for pieces := range filtertest.Cuts(body) {
//		x := host.Request("GET", "/", "")
//		x.BeginResponse(200)
//		x.SendResponse(pieces...)
//		x.EndResponse()
//		…
//	}
func Cuts(body string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		if !yield([]string{body}) {
			return
		}
		for i := 1; i < len(body); i++ {
			if !yield(CutAt(body, i)) {
				return
			}
		}
		if len(body) > 2 {
			yield(EveryByte(body))
		}
	}
}

// CutAt returns a body cut at offsets, which must increase and lie within the body.
func CutAt(body string, offsets ...int) []string {
	pieces := make([]string, 0, len(offsets)+1)
	from := 0
	for _, at := range offsets {
		if at <= from || at >= len(body) {
			panic(fmt.Sprintf("filtertest.CutAt: the offset %d does not lie within what is left, %d to %d", at, from+1,
				len(body)-1))
		}
		pieces = append(pieces, body[from:at])
		from = at
	}
	return append(pieces, body[from:])
}

// EveryByte returns a body cut after every byte.
func EveryByte(body string) []string {
	pieces := make([]string, len(body))
	for i := range pieces {
		pieces[i] = body[i : i+1]
	}
	return pieces
}
