package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// cluster is as much of a Kubernetes API as an endpoint picker reads: an InferencePool, one pod that is all of its
// servers, and InferenceObjectives. Nothing ever changes there.
type cluster struct {
	// ports are the servers' ports at 127.0.0.1. Each of them is an endpoint.
	ports []int
	// objectives are the names of the InferenceObjectives and their priorities.
	objectives map[string]int
}

// The names of the objects.
const (
	namespace = "bench"
	poolName  = "pool"
	poolGroup = "inference.networking.k8s.io"
	moreGroup = "inference.networking.x-k8s.io"
)

// maxPorts is how many ports an InferencePool has at most.
const maxPorts = 8

type object = map[string]any

// kind is a kind of objects.
type kind struct {
	group, version, plural, name string
	objects                      []object
}

func (k *kind) apiVersion() string { return strings.TrimPrefix(k.group+"/"+k.version, "/") }

func (k *kind) folder() string {
	if k.group == "" {
		return "/api/" + k.version
	}
	return "/apis/" + k.apiVersion()
}

func (c *cluster) kinds() []kind {
	labels := object{"app": "server"}
	var targets, containerPorts []object
	for _, port := range c.ports {
		targets = append(targets, object{"number": port})
		containerPorts = append(containerPorts, object{"containerPort": port})
	}
	pods := kind{"", "v1", "pods", "Pod", []object{{
		"metadata": object{"labels": labels},
		"spec":     object{"containers": []object{{"name": "server", "ports": containerPorts}}},
		"status": object{"phase": "Running", "podIP": "127.0.0.1", "podIPs": []object{{"ip": "127.0.0.1"}},
			"conditions": []object{{"type": "Ready", "status": "True"}}},
	}}}
	pools := kind{poolGroup, "v1", "inferencepools", "InferencePool", []object{{
		"metadata": object{},
		"spec": object{"selector": object{"matchLabels": labels}, "targetPorts": targets,
			"endpointPickerRef": object{"name": "picker", "port": object{"number": 9002}}},
	}}}
	objectives := kind{moreGroup, "v1alpha2", "inferenceobjectives", "InferenceObjective", nil}
	for name, priority := range c.objectives {
		pool := object{"group": poolGroup, "kind": "InferencePool", "name": poolName}
		objectives.objects = append(objectives.objects, object{"metadata": object{"name": name},
			"spec": object{"priority": priority, "poolRef": pool}})
	}
	all := []kind{pods, pools, objectives}
	for _, k := range all {
		for i, o := range k.objects {
			o["apiVersion"], o["kind"] = k.apiVersion(), k.name
			meta, _ := o["metadata"].(object)
			meta["namespace"], meta["resourceVersion"], meta["uid"] = namespace, "1", fmt.Sprint(k.plural, i)
			if meta["name"] == nil {
				meta["name"] = poolName
			}
		}
	}
	return all
}

// serve serves the API until the context ends, and returns its URL.
func (c *cluster) serve(ctx context.Context) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	say := func(path string, value object) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { write(w, value) })
	}
	var groups []object
	for _, k := range c.kinds() {
		say(k.folder(), object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": k.apiVersion(),
			"resources": []object{{"name": k.plural, "kind": k.name, "namespaced": true,
				"verbs": []string{"get", "list", "watch"}}}})
		if k.group != "" {
			version := object{"groupVersion": k.apiVersion(), "version": k.version}
			groups = append(groups, object{"name": k.group, "versions": []object{version}, "preferredVersion": version})
		}
		mux.HandleFunc("GET "+k.folder()+"/namespaces/"+namespace+"/"+k.plural, k.list)
	}
	say("/api", object{"kind": "APIVersions", "versions": []string{"v1"}})
	say("/apis", object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
	server := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // it ends with the context
	return "http://" + l.Addr().String(), nil
}

func write(w http.ResponseWriter, value object) {
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // a reader that has left does not care
}

// list answers a list of a kind's objects, or a watch. A watch that asks for what there is gets it, and a bookmark
// behind it.
func (k *kind) list(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("watch") == "" {
		write(w, object{"kind": k.name + "List", "apiVersion": k.apiVersion(), "items": k.objects,
			"metadata": object{"resourceVersion": "1"}})
		return
	}
	if r.FormValue("sendInitialEvents") == "true" {
		for _, o := range k.objects {
			write(w, object{"type": "ADDED", "object": o})
		}
		write(w, object{"type": "BOOKMARK", "object": object{"kind": k.name, "apiVersion": k.apiVersion(),
			"metadata": object{"resourceVersion": "1", "annotations": object{"k8s.io/initial-events-end": "true"}}}})
	} else {
		w.Header().Set("content-type", "application/json")
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
