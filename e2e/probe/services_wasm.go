package main

import (
	"strconv"
	"strings"
	"unsafe"
)

// services are the commands that are not about a message.
var services = map[string]do{
	"prop": {1, func(_ *owner, a []string) string {
		value, status := property(a[0])
		return result(status, value)
	}},
	"propn": {1, func(_ *owner, a []string) string {
		value, status := property(a[0])
		if status != 0 {
			return number(status)
		}
		return "0 " + le(value)
	}},
	"set-prop": {2, func(_ *owner, a []string) string {
		p, n := ptr(path(a[0]))
		v, size := ptr(a[1])
		return number(proxySetProperty(p, n, v, size))
	}},

	"metric": {2, func(_ *owner, a []string) string {
		var id uint32
		p, n := ptr(a[1])
		status := proxyDefineMetric(map[string]uint32{"counter": 0, "gauge": 1, "histogram": 2, "bad": 9}[a[0]], p, n,
			unsafe.Pointer(&id))
		again := ""
		if known, ok := vm.metrics[a[1]]; ok && status == 0 {
			again = " same id: " + strconv.FormatBool(known == id)
		}
		vm.metrics[a[1]] = id
		return number(status) + again
	}},
	"inc": {2, func(_ *owner, a []string) string {
		by, _ := strconv.ParseInt(a[1], 10, 64)
		return number(proxyIncrementMetric(metric(a[0]), by))
	}},
	"record": {2, func(_ *owner, a []string) string {
		value, _ := strconv.ParseInt(a[1], 10, 64)
		return number(proxyRecordMetric(metric(a[0]), uint64(value)))
	}},
	"value": {1, func(_ *owner, a []string) string {
		var value uint64
		if status := proxyGetMetric(metric(a[0]), unsafe.Pointer(&value)); status != 0 {
			return number(status)
		}
		return "0 " + strconv.FormatUint(value, 10)
	}},

	"sget": {1, func(_ *owner, a []string) string {
		var g given
		at, size := g.where()
		p, n := ptr(a[0])
		if status := proxyGetShared(p, n, at, size, unsafe.Pointer(&vm.cas)); status != 0 {
			return number(status)
		}
		text, _ := g.take()
		return "0 " + show(text) + " cas " + number(vm.cas)
	}},
	"sset": {3, func(_ *owner, a []string) string {
		cas := vm.cas
		if a[2] != "got" {
			cas = integer(a[2])
		}
		p, n := ptr(a[0])
		v, size := ptr(a[1])
		return number(proxySetShared(p, n, v, size, cas))
	}},

	"qnew": {1, func(_ *owner, a []string) string {
		var id uint32
		p, n := ptr(a[0])
		status := proxyRegisterQueue(p, n, unsafe.Pointer(&id))
		return number(status) + " " + number(id)
	}},
	"qfind": {2, func(_ *owner, a []string) string {
		var id uint32
		v, size := ptr(a[0])
		p, n := ptr(a[1])
		if status := proxyResolveQueue(v, size, p, n, unsafe.Pointer(&id)); status != 0 {
			return number(status)
		}
		return "0 " + number(id)
	}},
	"qput": {2, func(_ *owner, a []string) string {
		p, n := ptr(a[1])
		return number(proxyEnqueue(integer(a[0]), p, n))
	}},
	"qget": {1, func(_ *owner, a []string) string {
		var g given
		at, size := g.where()
		status := proxyDequeue(integer(a[0]), at, size)
		text, _ := g.take()
		return result(status, text)
	}},

	"callout": {3, func(o *owner, a []string) string {
		body := ""
		if len(a) > 3 {
			body = a[3]
		}
		headers := [][2]string{{":method", "POST"}, {":path", a[2]}, {":authority", "callout"}, {"x-probe-id", o.name}}
		return callout(o, a, headers, body)
	}},
	"callout-raw": {2, func(o *owner, a []string) string { return callout(o, a, pairs(a[2:]), "") }},
	"status": {0, func(*owner, []string) string {
		var g given
		var code uint32
		at, size := g.where()
		status := proxyGetStatus(unsafe.Pointer(&code), at, size)
		text, _ := g.take()
		return number(status) + " " + number(code) + " " + show(text)
	}},
	"foreign": {1, func(_ *owner, a []string) string {
		argument := ""
		if len(a) > 1 {
			argument = a[1]
		}
		var g given
		at, size := g.where()
		p, n := ptr(a[0])
		v, argumentSize := ptr(argument)
		status := proxyForeign(p, n, v, argumentSize, at, size)
		text, _ := g.take()
		return result(status, text)
	}},
}

// path returns a property's path in the form of the ABI.
func path(text string) string {
	if strings.Contains(text, "|") {
		return strings.ReplaceAll(text, "|", "\x00")
	}
	return strings.ReplaceAll(text, ".", "\x00")
}

func property(name string) (string, uint32) {
	var g given
	at, size := g.where()
	p, n := ptr(path(name))
	status := proxyGetProperty(p, n, at, size)
	text, _ := g.take()
	return text, status
}

func metric(name string) uint32 {
	if id, ok := vm.metrics[name]; ok {
		return id
	}
	return integer(name)
}

func callout(o *owner, a []string, headers [][2]string, body string) string {
	var token uint32
	c, clusterSize := ptr(a[0])
	h, headersSize := ptr(pack(headers))
	b, bodySize := ptr(body)
	t, trailersSize := ptr(pack(nil))
	status := proxyHTTPCall(c, clusterSize, h, headersSize, b, bodySize, t, trailersSize, integer(a[1]),
		unsafe.Pointer(&token))
	if status == 0 {
		vm.calls[token] = o
	}
	return number(status)
}
