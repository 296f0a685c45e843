package main

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// do is a command: the number of arguments that it needs at least, and its function. An empty result is not logged.
type do struct {
	arguments int
	run       func(o *owner, a []string) string
}

var (
	mapKinds    = map[string]uint32{"reqh": 0, "reqt": 1, "resph": 2, "respt": 3, "callh": 6, "callt": 7}
	bodyKinds   = map[string]uint32{"req": 0, "resp": 1, "call": 4, "vm": 6, "plugin": 7}
	streamKinds = map[string]uint32{"req": 0, "resp": 1}
	commands    map[string]do
)

func init() {
	commands = map[string]do{
		"pause":    {0, func(o *owner, _ []string) string { o.returns = 1; return "" }},
		"continue": {0, func(o *owner, _ []string) string { o.returns = 0; return "" }},
		"return":   {1, func(o *owner, a []string) string { o.returns = integer(a[0]); return "" }},

		"get": {2, func(_ *owner, a []string) string {
			value, status := header(mapKind(a[0]), a[1])
			return result(status, value)
		}},
		"headers": {1, getHeaders},
		"size": {1, func(_ *owner, a []string) string {
			var size uint32
			status := proxyGetHeadersSize(mapKind(a[0]), unsafe.Pointer(&size))
			return number(status) + " " + number(size)
		}},
		"set": {3, func(_ *owner, a []string) string { return number(edit(false, a[0], a[1], a[2])) }},
		"add": {3, func(_ *owner, a []string) string { return number(edit(true, a[0], a[1], a[2])) }},
		"remove": {2, func(_ *owner, a []string) string {
			p, n := ptr(a[1])
			return number(proxyRemoveHeader(mapKind(a[0]), p, n))
		}},
		"set-all":  {1, func(_ *owner, a []string) string { return setHeaders(a[0], pairs(a[1:])) }},
		"set-many": {2, func(_ *owner, a []string) string { return setHeaders(a[0], many(integer(a[1]))) }},
		"add-many": {2, addMany},

		"read": {1, read},
		"write": {4, func(_ *owner, a []string) string {
			return write(a[0], integer(a[1]), integer(a[2]), a[3])
		}},
		"append":  {2, func(_ *owner, a []string) string { return write(a[0], math.MaxInt32, 0, a[1]) }},
		"replace": {2, func(_ *owner, a []string) string { return write(a[0], 0, math.MaxInt32, a[1]) }},

		"reply":  {2, reply},
		"resume": {1, func(_ *owner, a []string) string { return number(proxyContinueStream(streamKinds[a[0]])) }},
		"close":  {1, func(_ *owner, a []string) string { return number(proxyCloseStream(integer(a[0]))) }},

		"tick-period": {1, func(_ *owner, a []string) string { return quiet(proxySetTickPeriod(integer(a[0]))) }},
		"wake":        {0, func(o *owner, _ []string) string { vm.woken = append(vm.woken, o); return "" }},
		"context":     {0, func(o *owner, _ []string) string { return number(o.id) }},
		"effective":   {1, func(_ *owner, a []string) string { return number(proxySetEffectiveContext(contextOf(a[0]))) }},

		"count": {0, func(*owner, []string) string { vm.count++; return strconv.Itoa(vm.count) }},
		"panic": {0, func(*owner, []string) string { return crash() }},
		"panic-at": {1, func(_ *owner, a []string) string {
			if vm.count == int(integer(a[0])) {
				return crash()
			}
			return ""
		}},
		"say": {1, func(_ *owner, a []string) string { return show(a[0]) }},
	}
	for name, c := range services {
		commands[name] = c
	}
}

// crash reads beyond the end of a slice, like a faulty program.
func crash() string {
	var data []byte
	return strconv.Itoa(int(data[vm.count]))
}

func mapKind(name string) uint32 {
	if kind, ok := mapKinds[name]; ok {
		return kind
	}
	return integer(name)
}

func bodyKind(name string) uint32 {
	if kind, ok := bodyKinds[name]; ok {
		return kind
	}
	return integer(name)
}

func integer(text string) uint32 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return uint32(n)
}

func quiet(status uint32) string {
	if status == 0 {
		return ""
	}
	return number(status)
}

func result(status uint32, value string) string {
	if status != 0 {
		return number(status)
	}
	return "0 " + show(value)
}

func contextOf(name string) uint32 {
	switch name {
	case "root":
		return vm.plugin.id
	case "gone":
		return vm.gone
	}
	for id, o := range vm.streams {
		if o.name == name || strings.HasSuffix(o.name, "/"+name) {
			return id
		}
	}
	return integer(name)
}

func edit(add bool, kind, name, text string) uint32 {
	key, keySize := ptr(name)
	value, valueSize := ptr(text)
	if add {
		return proxyAddHeader(mapKind(kind), key, keySize, value, valueSize)
	}
	return proxyReplaceHeader(mapKind(kind), key, keySize, value, valueSize)
}

func getHeaders(_ *owner, a []string) string {
	var g given
	at, size := g.where()
	if status := proxyGetHeaders(mapKind(a[0]), at, size); status != 0 {
		return number(status)
	}
	text, _ := g.take()
	list := unpack(text)
	out := "0 " + strconv.Itoa(len(list))
	for _, p := range list {
		// The headers with the script are left out.
		if p[0] != "x-probe" && p[0] != "x-probe-id" {
			out += " | " + p[0] + ": " + p[1]
		}
	}
	return out
}

// pairs reads NAME=VALUE arguments. A name may begin with a colon.
func pairs(list []string) [][2]string {
	var out [][2]string
	for _, text := range list {
		name, value, _ := strings.Cut(text, "=")
		out = append(out, [2]string{name, value})
	}
	return out
}

func many(n uint32) [][2]string {
	var out [][2]string
	for i := range n {
		out = append(out, [2]string{"x-" + number(i), number(i)})
	}
	return out
}

func setHeaders(kind string, list [][2]string) string {
	p, n := ptr(pack(list))
	return number(proxySetHeaders(mapKind(kind), p, n))
}

// addMany adds headers until the host refuses one.
func addMany(_ *owner, a []string) string {
	for i, p := range many(integer(a[1])) {
		if status := edit(true, a[0], p[0], p[1]); status != 0 {
			return number(status) + " at " + strconv.Itoa(i)
		}
	}
	return "0"
}

func buffer(kind, start, size uint32) (string, uint32) {
	var g given
	at, length := g.where()
	status := proxyGetBuffer(kind, start, size, at, length)
	text, _ := g.take()
	return text, status
}

func read(o *owner, a []string) string {
	start, size := uint32(0), o.size
	if len(a) > 2 {
		start, size = integer(a[1]), integer(a[2])
	}
	text, status := buffer(bodyKind(a[0]), start, size)
	return result(status, text)
}

func write(kind string, start, size uint32, text string) string {
	p, n := ptr(text)
	return number(proxySetBuffer(bodyKind(kind), start, size, p, n))
}

func reply(_ *owner, a []string) string {
	body, bodySize := ptr(a[1])
	headers, headersSize := ptr(pack(pairs(a[2:])))
	details, detailsSize := ptr("")
	return number(proxySendLocalResponse(integer(a[0]), details, detailsSize, body, bodySize, headers, headersSize, -1))
}

func le(text string) string {
	switch len(text) {
	case 1:
		return strconv.Itoa(int(text[0]))
	case 4:
		return number(binary.LittleEndian.Uint32([]byte(text)))
	case 8:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64([]byte(text))), 10)
	}
	return show(text)
}
