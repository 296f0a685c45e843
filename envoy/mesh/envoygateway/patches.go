package envoygateway

import (
	"fmt"
	"slices"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/harmonyedge/harmonyedge/envoy/mesh"
)

const (
	listenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	routeType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

	// managerPath finds the connection manager, whether the listener has TLS or not.
	managerPath = "..filters[?(@.name=='envoy.filters.network.http_connection_manager')].typed_config"
)

// patched are the fields of the connection manager for which Envoy Gateway has no setting.
var patched = []string{"local_reply_config", "delayed_close_timeout", "always_set_request_id_in_response",
	"path_with_escaped_slashes_action", "request_headers_timeout", "server_name", "access_log"}

// patchPolicy adds what Envoy Gateway's other objects have no words for. Each patch stands alone: one that does not fit
// is left out without an error of the others.
func (b *builder) patchPolicy() {
	var patches list
	manager, err := mesh.Value(b.parts.Manager)
	b.fail(err)
	for _, l := range b.config.Config.AllListeners() {
		resource := fmt.Sprintf("%s/%s/%s", b.options.Namespace, b.options.Name, listenerName(&l))
		for _, field := range manager {
			if name, _ := field.Key.(string); slices.Contains(patched, name) {
				patches = append(patches, patch(listenerType, resource, managerPath, name, field.Value))
			}
		}
		patches = append(patches, b.filterPatches(resource)...)
		for _, f := range b.parts.Before {
			value, err := mesh.Value(f)
			b.fail(err)
			patches = append(patches, patch(listenerType, resource, managerPath, "http_filters/0", value))
		}
		patches = append(patches, patch(routeType, resource, "", "/virtual_hosts/0/request_body_buffer_limit",
			b.parts.Host.GetRequestBodyBufferLimit().GetValue()))
	}
	b.add(envoyAPI, "EnvoyPatchPolicy", b.options.Name, object{
		{Key: "targetRef", Value: b.gatewayRef()}, {Key: "type", Value: "JSONPatch"}, {Key: "jsonPatches", Value: patches}})
}

// filterPatches returns the patches that make the filter complete: the whole of it, or what the policy that fetches it
// has no words for.
func (b *builder) filterPatches(resource string) list {
	wasm := b.parts.Wasm(&b.options.Module, nil)
	if _, file := b.options.Module.File(); file {
		packed := &anypb.Any{}
		b.fail(anypb.MarshalFrom(packed, wasm, proto.MarshalOptions{Deterministic: true}))
		value, err := mesh.Value(&hcmv3.HttpFilter{Name: b.options.Name,
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed}})
		b.fail(err)
		return list{patch(listenerType, resource, managerPath, "http_filters/0", value)}
	}
	value, err := mesh.Value(wasm)
	b.fail(err)
	config, _ := value[0].Value.(yaml.MapSlice)
	at := fmt.Sprintf("..http_filters[?(@.name=='envoy.filters.http.wasm//%s/%s/wasm/0')].typed_config.config",
		b.options.Namespace, b.options.Name)
	var patches list
	for _, field := range config {
		switch field.Key {
		case "failure_policy", "reload_config", "allow_on_headers_stop_iteration":
			patches = append(patches, patch(listenerType, resource, at, field.Key.(string), field.Value))
		}
	}
	return patches
}

func patch(kind, resource, jsonPath, path string, value any) object {
	operation := object{{Key: "op", Value: "add"}}
	if jsonPath != "" {
		operation = append(operation, yaml.MapItem{Key: "jsonPath", Value: jsonPath})
	}
	return object{{Key: "type", Value: kind}, {Key: "name", Value: resource}, {Key: "operation", Value: append(operation,
		yaml.MapItem{Key: "path", Value: path}, yaml.MapItem{Key: "value", Value: value})}}
}
