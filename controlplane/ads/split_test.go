package ads

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// splitResources returns resources with one extension of this content.
func splitResources(t *testing.T, content string) Resources {
	t.Helper()
	r := testResources(t, 1, "a")
	r[resource.ExtensionConfigType] = append(r[resource.ExtensionConfigType], extensionWith(t, content))
	return r
}

// splitFor returns a split that gives an Envoy another content, made of the rest's content.
func splitFor(t *testing.T, chosen func(id, group string) bool) *Split {
	t.Helper()
	return &Split{Chosen: chosen, Replace: func(config *corev3.TypedExtensionConfig) *corev3.TypedExtensionConfig {
		var content wrapperspb.StringValue
		if err := config.GetTypedConfig().UnmarshalTo(&content); err != nil {
			t.Error(err)
		}
		return extensionWith(t, "other "+content.GetValue())
	}}
}

// takes receives the extension, which must have this content, accepts it, and returns its version.
func (c *client) takes(content string) (version string) {
	c.t.Helper()
	r := c.receive(resource.ExtensionConfigType)
	want, err := extensionWith(c.t, content).GetTypedConfig().UnmarshalNew()
	if err != nil {
		c.t.Fatal(err)
	}
	var got corev3.TypedExtensionConfig
	var value wrapperspb.StringValue
	if err := r.GetResources()[0].GetResource().UnmarshalTo(&got); err != nil {
		c.t.Fatal(err)
	}
	if err := got.GetTypedConfig().UnmarshalTo(&value); err != nil {
		c.t.Fatal(err)
	}
	if value.GetValue() != want.(*wrapperspb.StringValue).GetValue() {
		c.t.Fatalf("got %q, want %q", value.GetValue(), content)
	}
	c.ack(r)
	return r.GetResources()[0].GetVersion()
}

// TestSplit checks that chosen Envoys get another extension, with their status by it, that a change reaches both kinds,
// and that the end of a split sends nothing to an Envoy that has what all are to have.
func TestSplit(t *testing.T) {
	s, address := serveResources(t, splitResources(t, "1"))
	one, two := connect(t, address, "one"), connect(t, address, "two")
	for _, c := range []*client{one, two} {
		c.subscribe(resource.ExtensionConfigType, "filter")
		c.takes("1")
	}
	if err := s.SetSplit(splitFor(t, func(id, _ string) bool { return id == "two" })); err != nil {
		t.Fatal(err)
	}
	r := two.receive(resource.ExtensionConfigType)
	all := s.Envoys()
	if all[0].Chosen || !all[1].Chosen || !all[0].Types["extensions"].Current || all[1].Types["extensions"].Current {
		t.Errorf("%+v", all)
	}
	two.nack(r, "not this one")
	eventually(t, s, "refused by the chosen one", func(all []Envoy) bool {
		return all[1].Types["extensions"].Refused != "" && all[0].Types["extensions"].Refused == ""
	})
	set(t, s, splitResources(t, "2"))
	one.takes("2")
	held := two.takes("other 2")

	late := connect(t, address, "two")
	late.send(&discovery.DeltaDiscoveryRequest{
		TypeUrl: resource.ExtensionConfigType, ResourceNamesSubscribe: []string{"filter"},
		InitialResourceVersions: map[string]string{"filter": held},
	})
	late.expectNothing()

	set(t, s, splitResources(t, "other 2")) // now all are to have it
	one.takes("other 2")
	if got := two.receive(resource.ExtensionConfigType); got.GetResources()[0].GetVersion() == held {
		t.Error("the chosen one does not get its own")
	} else {
		two.ack(got)
	}
	if err := s.SetSplit(nil); err != nil {
		t.Fatal(err)
	}
	two.takes("other 2")
	one.expectNothing()
}

// TestSplitByGroup checks that a group in the bootstrap chooses an Envoy, also one that comes late.
func TestSplitByGroup(t *testing.T) {
	s, address := serveResources(t, splitResources(t, "1"))
	if err := s.SetSplit(splitFor(t, func(_, group string) bool { return group == "canary" })); err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]string{"canary": "other 1", "": "1"} {
		c := connect(t, address, "same name")
		first := &discovery.DeltaDiscoveryRequest{TypeUrl: resource.ExtensionConfigType,
			ResourceNamesSubscribe: []string{"filter"}, Node: &corev3.Node{Id: "same name", Metadata: &structpb.Struct{
				Fields: map[string]*structpb.Value{GroupMetadata: structpb.NewStringValue(group)}}}}
		if err := c.stream.Send(first); err != nil {
			t.Fatal(err)
		}
		c.takes(want)
		if all := s.Envoys(); all[0].Group != group || all[0].Chosen != (group != "") {
			t.Errorf("%+v", all[0])
		}
		c.close()
		eventually(t, s, "gone", func(all []Envoy) bool { return len(all) == 0 })
	}
	c := connect(t, address, "x")
	long := &discovery.DeltaDiscoveryRequest{TypeUrl: resource.ExtensionConfigType, Node: &corev3.Node{Id: "x",
		Metadata: &structpb.Struct{Fields: map[string]*structpb.Value{
			GroupMetadata: structpb.NewStringValue(strings.Repeat("x", maxID+1))}}}}
	if err := c.stream.Send(long); err != nil {
		t.Fatal(err)
	}
	if _, err := c.stream.Recv(); err == nil || !strings.Contains(err.Error(), GroupMetadata) {
		t.Errorf("a long group: %v", err)
	}
}
