package main

import "strconv"

// owner runs a script: it is a stream or the plugin itself.
type owner struct {
	id      uint32
	name    string
	known   bool // the script has been read
	steps   []step
	counts  map[string]int
	root    bool
	seen    string // the current callback, as in the log
	size    uint32 // of the current callback's body or map
	returns uint32
}

// vm is the state of the VM. It is empty in a new VM.
var vm = struct {
	streams map[uint32]*owner
	woken   []*owner
	plugin  *owner
	calls   map[uint32]*owner
	metrics map[string]uint32
	gone    uint32
	cas     uint32
	count   int
}{streams: map[uint32]*owner{}, calls: map[uint32]*owner{}, metrics: map[string]uint32{}}

const levelWarn = 3

func (o *owner) log(text string) {
	p, n := ptr("probe: " + o.name + " " + text)
	proxyLog(levelWarn, p, n)
}

// run logs a callback, runs the matching steps and returns the callback's result. The names are those that a step may
// have; the first one is counted.
func (o *owner) run(arguments string, returns uint32, names ...string) uint32 {
	o.counts[names[0]]++
	numbered := names[0] + strconv.Itoa(o.counts[names[0]])
	o.seen = names[0]
	if names[0] == "reqb" || names[0] == "respb" || names[0] == "tick" || names[0] == "callout" {
		o.seen = numbered
	}
	o.returns = returns
	if !o.root || o.has(names[0]) {
		o.log(o.seen + arguments)
	}
	for _, s := range o.steps {
		fits := s.callback == numbered
		for _, name := range names {
			fits = fits || s.callback == name
		}
		if !fits {
			continue
		}
		for _, c := range s.commands {
			o.command(c)
		}
	}
	return o.returns
}

func (o *owner) has(callback string) bool {
	for _, s := range o.steps {
		if s.callback == callback {
			return true
		}
	}
	return false
}

// command runs one command and logs the result.
func (o *owner) command(c []string) {
	do, ok := commands[c[0]]
	switch {
	case !ok:
		o.log(o.seen + " unknown command " + showCommand(c))
	case len(c)-1 < do.arguments:
		o.log(o.seen + " too few arguments: " + showCommand(c))
	default:
		if result := do.run(o, c[1:]); result != "" {
			o.log(o.seen + " " + showCommand(c) + " = " + result)
		}
	}
}

// stream returns the stream of a context. Its script is read when its request is there.
func stream(id uint32) *owner {
	o := vm.streams[id]
	if o == nil {
		o = &owner{id: id, name: "unknown", counts: map[string]int{}}
	}
	if !o.known {
		if name, status := header(mapKinds["reqh"], "x-probe-id"); status == 0 {
			o.known, o.name = true, name
			script, _ := header(mapKinds["reqh"], "x-probe")
			o.read(script)
		}
	}
	return o
}

func (o *owner) read(script string) {
	var err error
	if o.steps, err = parse(script); err != nil {
		o.log("bad script: " + err.Error())
	}
}

func header(kind uint32, name string) (string, uint32) {
	var g given
	at, size := g.where()
	p, n := ptr(name)
	status := proxyGetHeader(kind, p, n, at, size)
	text, _ := g.take()
	return text, status
}
