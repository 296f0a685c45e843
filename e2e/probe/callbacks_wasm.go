package main

import "strconv"

//export proxy_abi_version_0_2_0
func abiVersion() {}

//export proxy_on_context_create
func onContextCreate(id, parent uint32) {
	o := &owner{id: id, name: "unknown", counts: map[string]int{}}
	if parent == 0 {
		o.name, o.root, o.known = "plugin", true, true
		vm.plugin = o
		return
	}
	vm.streams[id] = o
}

//export proxy_on_vm_start
func onVMStart(uint32, uint32) uint32 {
	// The plugin's configuration cannot be read yet, but the VM's can.
	text, _ := buffer(bodyKinds["vm"], 0, 1<<20)
	vm.plugin.read(text)
	return vm.plugin.run("", 1, "vmstart")
}

//export proxy_on_configure
func onConfigure(id, size uint32) uint32 {
	text, _ := buffer(bodyKinds["plugin"], 0, size)
	vm.plugin.read(text)
	vm.plugin.size = size
	return vm.plugin.run("", 1, "configure")
}

//export proxy_on_request_headers
func onRequestHeaders(id, count, end uint32) uint32 { return message(id, count, end, "reqh", "reqend") }

//export proxy_on_request_body
func onRequestBody(id, size, end uint32) uint32 { return message(id, size, end, "reqb", "reqend") }

//export proxy_on_request_trailers
func onRequestTrailers(id, count uint32) uint32 {
	return stream(id).sized(count).run(numbers(count), 0, "reqt")
}

//export proxy_on_response_headers
func onResponseHeaders(id, count, end uint32) uint32 {
	return message(id, count, end, "resph", "respend")
}

//export proxy_on_response_body
func onResponseBody(id, size, end uint32) uint32 { return message(id, size, end, "respb", "respend") }

//export proxy_on_response_trailers
func onResponseTrailers(id, count uint32) uint32 {
	return stream(id).sized(count).run(numbers(count), 0, "respt")
}

func message(id, size, end uint32, name, last string) uint32 {
	arguments := "(" + number(size) + "," + strconv.FormatBool(end != 0) + ")"
	if end == 0 {
		return stream(id).sized(size).run(arguments, 0, name)
	}
	return stream(id).sized(size).run(arguments, 0, name, last)
}

func (o *owner) sized(size uint32) *owner {
	o.size = size
	return o
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func numbers(list ...uint32) string {
	text := "("
	for i, n := range list {
		if i > 0 {
			text += ","
		}
		text += number(n)
	}
	return text + ")"
}

//export proxy_on_done
func onDone(id uint32) uint32 { return anyone(id).run("", 1, "done") }

//export proxy_on_log
func onLog(id uint32) { anyone(id).run("", 0, "log") }

//export proxy_on_delete
func onDelete(id uint32) {
	o := anyone(id)
	o.run("", 0, "delete")
	if !o.root {
		o.log("deleted") // nothing follows of it
	}
	delete(vm.streams, id)
	vm.gone = id
}

func anyone(id uint32) *owner {
	if vm.plugin != nil && id == vm.plugin.id {
		return vm.plugin
	}
	return stream(id)
}

//export proxy_on_tick
func onTick(uint32) {
	vm.plugin.run("", 0, "tick")
	woken := vm.woken
	vm.woken = nil
	for _, o := range woken {
		o.enter()
		o.run("", 0, "tick")
	}
}

// enter makes the host act on the stream from a callback that belongs to another context.
func (o *owner) enter() {
	if status := proxySetEffectiveContext(o.id); status != 0 {
		o.log("set effective context = " + number(status))
	}
}

//export proxy_on_http_call_response
func onHTTPCallResponse(_, token, headers, size, trailers uint32) {
	o := vm.calls[token]
	delete(vm.calls, token)
	if o == nil {
		o = vm.plugin
	}
	if !o.root {
		o.enter()
	}
	o.sized(size).run(numbers(headers, size, trailers), 0, "callout")
}

//export proxy_on_queue_ready
func onQueueReady(_, queue uint32) { vm.plugin.sized(queue).run("", 0, "queue") }
