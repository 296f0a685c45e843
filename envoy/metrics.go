package envoy

import (
	"fmt"
	"net"
	"net/url"
	"time"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metricsv3 "github.com/envoyproxy/go-control-plane/envoy/config/metrics/v3"
	statsinputv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/stats/v3"
	otlpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/stat_sinks/open_telemetry/v3"
	detectorsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/tracers/opentelemetry/resource_detectors/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/harmonyedge/harmonyedge/controlplane/pushed"
	"github.com/harmonyedge/harmonyedge/controlplane/rollout"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

const (
	collectorCluster = "harmony-metrics"
	// pushTimeout is how long a push may take. Envoy pushes each 5 seconds.
	pushTimeout = 5 * time.Second
	// serviceName is the name of all gateways together, for collectors.
	serviceName = "harmony-edge"
	// shown are the metrics that the control plane gets: the metrics of its page, the ones by which it watches a rollout,
	// and a counter that has counted since Envoy began, which has the time of that.
	shown = history.EnvoyStats + `|` + rollout.EnvoyStats + `|^cluster_manager\.cluster_added$`
)

// addMetrics makes the Envoy push its metrics to the control plane and to the collector, if it has to.
func (d *Discovery) addMetrics(b *bootstrapv3.Bootstrap) error {
	if d.PushMetrics {
		sink, err := d.sink(controlPlaneCluster, onlyShown)
		if err != nil {
			return err
		}
		b.StatsSinks = append(b.StatsSinks, sink)
	}
	if d.Collector == "" {
		return nil
	}
	cluster, err := d.collector()
	if err != nil {
		return err
	}
	sink, err := d.sink(collectorCluster, documentedNames)
	if err != nil {
		return err
	}
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, cluster)
	b.StatsSinks = append(b.StatsSinks, sink)
	return nil
}

// collector returns the cluster of the collector.
func (d *Discovery) collector() (*clusterv3.Cluster, error) {
	wrong := fmt.Errorf("the collector's URL %q is not http://HOST:PORT or https://HOST:PORT of OTLP by gRPC", d.Collector)
	u, err := url.Parse(d.Collector)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" || u.User != nil ||
		u.RawQuery != "" {
		return nil, wrong
	}
	at := Discovery{ControlPlane: net.JoinHostPort(u.Hostname(), u.Port())}
	address, kind, host, err := at.endpoint()
	if err != nil {
		return nil, wrong
	}
	if u.Scheme == "https" {
		if at.CAFile = d.CollectorCAFile; at.CAFile == "" {
			return nil, fmt.Errorf("the collector's URL %s is https, and no file of trusted certificates was found", d.Collector)
		}
	}
	socket, err := at.tls(host)
	if err != nil {
		return nil, err
	}
	// Collectors end connections on which they get more than a ping in 5 minutes.
	return grpcCluster(collectorCluster, address, kind, socket, nil)
}

// packer packs messages, and keeps the first error.
type packer struct{ err error }

func (p *packer) pack(m proto.Message) *anypb.Any {
	packed, err := anypb.New(m)
	if p.err == nil {
		p.err = err
	}
	return packed
}

// sink returns a sink that pushes to a cluster. rules say what becomes of each statistic.
func (d *Discovery) sink(cluster string, rules func(*packer) *matcherv3.Matcher) (*metricsv3.StatsSink, error) {
	p := &packer{}
	config := p.pack(&otlpv3.SinkConfig{
		ProtocolSpecifier: &otlpv3.SinkConfig_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: cluster}},
			Timeout:         durationpb.New(pushTimeout),
		}},
		ResourceDetectors: []*corev3.TypedExtensionConfig{{
			Name: "envoy.tracers.opentelemetry.resource_detectors.static_config",
			TypedConfig: p.pack(&detectorsv3.StaticConfigResourceDetectorConfig{Attributes: map[string]string{
				"service.name": serviceName, pushed.InstanceAttribute: d.Node,
			}}),
		}},
		CustomMetricConversions: rules(p),
	})
	return &metricsv3.StatsSink{Name: "envoy.stat_sinks.open_telemetry",
		ConfigType: &metricsv3.StatsSink_TypedConfig{TypedConfig: config}}, p.err
}

// statName is the input of rules that match the whole names of statistics.
func statName(p *packer) *xdscorev3.TypedExtensionConfig {
	return &xdscorev3.TypedExtensionConfig{Name: "stat_full_name_match_input",
		TypedConfig: p.pack(&statsinputv3.StatFullNameMatchInput{})}
}

// onlyShown drops what the control plane does not read.
func onlyShown(p *packer) *matcherv3.Matcher {
	isShown := &matcherv3.Matcher_MatcherList_Predicate{
		MatchType: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
			SinglePredicate: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
				Input: statName(p),
				Matcher: &matcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{
					ValueMatch: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{
						SafeRegex: &matcherv3.RegexMatcher{Regex: shown,
							EngineType: &matcherv3.RegexMatcher_GoogleRe2{GoogleRe2: &matcherv3.RegexMatcher_GoogleRE2{}}},
					}},
				},
			},
		},
	}
	return &matcherv3.Matcher{MatcherType: &matcherv3.Matcher_MatcherList_{MatcherList: &matcherv3.Matcher_MatcherList{
		Matchers: []*matcherv3.Matcher_MatcherList_FieldMatcher{{
			Predicate: &matcherv3.Matcher_MatcherList_Predicate{
				MatchType: &matcherv3.Matcher_MatcherList_Predicate_NotMatcher{NotMatcher: isShown}},
			OnMatch: action("drop", p.pack(&otlpv3.SinkConfig_DropAction{})),
		}},
	}}}
}

// documentedNames gives the filter's metrics the names that they have in Prometheus, and leaves Envoy's own as they
// are.
func documentedNames(p *packer) *matcherv3.Matcher {
	names := map[string]*matcherv3.Matcher_OnMatch{}
	for m := range contract.MetricCount {
		name := m.Info().Name
		names[contract.MetricPrefix+name] = action(name, p.pack(&otlpv3.SinkConfig_ConversionAction{MetricName: name}))
	}
	return &matcherv3.Matcher{MatcherType: &matcherv3.Matcher_MatcherTree_{MatcherTree: &matcherv3.Matcher_MatcherTree{
		Input: statName(p),
		TreeType: &matcherv3.Matcher_MatcherTree_PrefixMatchMap{
			PrefixMatchMap: &matcherv3.Matcher_MatcherTree_MatchMap{Map: names}},
	}}}
}

func action(name string, config *anypb.Any) *matcherv3.Matcher_OnMatch {
	return &matcherv3.Matcher_OnMatch{OnMatch: &matcherv3.Matcher_OnMatch_Action{
		Action: &xdscorev3.TypedExtensionConfig{Name: name, TypedConfig: config}}}
}
