package istio

import "github.com/goccy/go-yaml"

// The specs of Istio's objects, with the fields that are written here and under Istio's names (RATIONALE.md#113).

type gatewaySpec struct {
	Selector map[string]string `yaml:"selector"`
	Servers  []gatewayServer   `yaml:"servers"`
}

type gatewayServer struct {
	Port  port        `yaml:"port"`
	Bind  string      `yaml:"bind,omitempty"`
	Hosts []string    `yaml:"hosts"`
	TLS   *gatewayTLS `yaml:"tls,omitempty"`
}

type port struct {
	Number   uint32 `yaml:"number"`
	Name     string `yaml:"name"`
	Protocol string `yaml:"protocol"`
}

type gatewayTLS struct {
	Mode           string `yaml:"mode"`
	CredentialName string `yaml:"credentialName"`
	MinProtocol    string `yaml:"minProtocolVersion"`
}

type virtualServiceSpec struct {
	ExportTo []string    `yaml:"exportTo"`
	Hosts    []string    `yaml:"hosts"`
	Gateways []string    `yaml:"gateways"`
	HTTP     []httpRoute `yaml:"http"`
}

type httpRoute struct {
	Name           string             `yaml:"name"`
	Match          []httpMatch        `yaml:"match"`
	DirectResponse *directResponse    `yaml:"directResponse,omitempty"`
	Headers        *headerOperations  `yaml:"headers,omitempty"`
	Rewrite        *rewrite           `yaml:"rewrite,omitempty"`
	Route          []routeDestination `yaml:"route,omitempty"`
	Retries        *retries           `yaml:"retries,omitempty"`
}

type httpMatch struct {
	URI     stringMatch            `yaml:"uri"`
	Method  *stringMatch           `yaml:"method,omitempty"`
	Headers map[string]stringMatch `yaml:"headers,omitempty"`
}

// stringMatch matches a text. The zero value matches any, of a header that is there.
type stringMatch struct {
	Exact  string `yaml:"exact,omitempty"`
	Prefix string `yaml:"prefix,omitempty"`
}

type directResponse struct {
	Status uint32 `yaml:"status"`
	Body   struct {
		String string `yaml:"string"`
	} `yaml:"body"`
}

type headerOperations struct {
	Request  *headerChanges `yaml:"request,omitempty"`
	Response *headerChanges `yaml:"response,omitempty"`
}

type headerChanges struct {
	Set    map[string]string `yaml:"set,omitempty"`
	Remove []string          `yaml:"remove,omitempty"`
}

type rewrite struct {
	Authority string `yaml:"authority"`
}

type routeDestination struct {
	Destination destination `yaml:"destination"`
}

type destination struct {
	Host string     `yaml:"host"`
	Port portNumber `yaml:"port"`
}

type portNumber struct {
	Number uint32 `yaml:"number"`
}

type retries struct {
	Attempts uint32 `yaml:"attempts"`
	RetryOn  string `yaml:"retryOn"`
}

type serviceEntrySpec struct {
	ExportTo   []string         `yaml:"exportTo"`
	Hosts      []string         `yaml:"hosts"`
	Ports      []port           `yaml:"ports"`
	Location   string           `yaml:"location"`
	Resolution string           `yaml:"resolution"`
	Endpoints  []serviceAddress `yaml:"endpoints"`
}

type serviceAddress struct {
	Address string            `yaml:"address"`
	Ports   map[string]uint32 `yaml:"ports"`
	Labels  map[string]string `yaml:"labels,omitempty"`
}

type destinationRuleSpec struct {
	ExportTo      []string      `yaml:"exportTo"`
	Host          string        `yaml:"host"`
	TrafficPolicy trafficPolicy `yaml:"trafficPolicy"`
}

type trafficPolicy struct {
	ConnectionPool   connectionPool    `yaml:"connectionPool"`
	LoadBalancer     *loadBalancer     `yaml:"loadBalancer,omitempty"`
	OutlierDetection *outlierDetection `yaml:"outlierDetection,omitempty"`
	TLS              *clientTLS        `yaml:"tls,omitempty"`
}

type connectionPool struct {
	TCP struct {
		MaxConnections uint32 `yaml:"maxConnections"`
		ConnectTimeout string `yaml:"connectTimeout"`
	} `yaml:"tcp"`
	HTTP struct {
		HTTP1MaxPendingRequests  uint32 `yaml:"http1MaxPendingRequests"`
		HTTP2MaxRequests         uint32 `yaml:"http2MaxRequests"`
		MaxRequestsPerConnection uint32 `yaml:"maxRequestsPerConnection,omitempty"`
		MaxRetries               uint32 `yaml:"maxRetries"`
		IdleTimeout              string `yaml:"idleTimeout"`
	} `yaml:"http"`
}

type loadBalancer struct {
	Simple            string          `yaml:"simple,omitempty"`
	ConsistentHash    *consistentHash `yaml:"consistentHash,omitempty"`
	Warmup            *warmup         `yaml:"warmup,omitempty"`
	LocalityLBSetting localitySetting `yaml:"localityLbSetting"`
}

type consistentHash struct {
	HTTPHeaderName string `yaml:"httpHeaderName"`
	Maglev         maglev `yaml:"maglev"`
}

type maglev struct {
	TableSize uint32 `yaml:"tableSize"`
}

type warmup struct {
	Duration string `yaml:"duration"`
}

type localitySetting struct {
	Enabled          bool     `yaml:"enabled"`
	FailoverPriority []string `yaml:"failoverPriority,omitempty"`
}

type outlierDetection struct {
	SplitExternalLocalOriginErrors bool   `yaml:"splitExternalLocalOriginErrors"`
	ConsecutiveLocalOriginFailures uint32 `yaml:"consecutiveLocalOriginFailures"`
	ConsecutiveGatewayErrors       uint32 `yaml:"consecutiveGatewayErrors"`
	Consecutive5xxErrors           uint32 `yaml:"consecutive5xxErrors"`
	BaseEjectionTime               string `yaml:"baseEjectionTime"`
	MaxEjectionPercent             uint32 `yaml:"maxEjectionPercent"`
}

type clientTLS struct {
	Mode            string   `yaml:"mode"`
	CACertificates  string   `yaml:"caCertificates,omitempty"`
	SNI             string   `yaml:"sni,omitempty"`
	SubjectAltNames []string `yaml:"subjectAltNames,omitempty"`
}

type envoyFilterSpec struct {
	WorkloadSelector *workloadSelector `yaml:"workloadSelector"`
	ConfigPatches    []configPatch     `yaml:"configPatches"`
}

type workloadSelector struct {
	Labels map[string]string `yaml:"labels"`
}

type configPatch struct {
	ApplyTo string       `yaml:"applyTo"`
	Match   *objectMatch `yaml:"match,omitempty"`
	Patch   patch        `yaml:"patch"`
}

type objectMatch struct {
	Context            string              `yaml:"context"`
	Listener           *listenerMatch      `yaml:"listener,omitempty"`
	RouteConfiguration *routeConfiguration `yaml:"routeConfiguration,omitempty"`
	Cluster            *clusterMatch       `yaml:"cluster,omitempty"`
}

type listenerMatch struct {
	PortNumber  uint32            `yaml:"portNumber"`
	FilterChain *filterChainMatch `yaml:"filterChain,omitempty"`
}

type filterChainMatch struct {
	Filter filterMatch `yaml:"filter"`
}

type filterMatch struct {
	Name      string       `yaml:"name"`
	SubFilter *filterMatch `yaml:"subFilter,omitempty"`
}

type routeConfiguration struct {
	PortNumber uint32     `yaml:"portNumber"`
	VHost      *hostMatch `yaml:"vhost,omitempty"`
}

type hostMatch struct {
	Route routeMatch `yaml:"route"`
}

type routeMatch struct {
	Name   string `yaml:"name,omitempty"`
	Action string `yaml:"action,omitempty"`
}

type clusterMatch struct {
	Service string `yaml:"service"`
}

type patch struct {
	Operation string        `yaml:"operation"`
	Value     yaml.MapSlice `yaml:"value"`
}

type wasmConfig struct {
	URL             string        `yaml:"url"`
	SHA256          string        `yaml:"sha256,omitempty"`
	ImagePullSecret string        `yaml:"imagePullSecret,omitempty"`
	PluginName      string        `yaml:"pluginName"`
	FailStrategy    string        `yaml:"failStrategy"`
	VMConfig        vmConfig      `yaml:"vmConfig"`
	PluginConfig    yaml.MapSlice `yaml:"pluginConfig"`
}

type vmConfig struct {
	Env []envVar `yaml:"env"`
}

type envVar struct {
	Name      string `yaml:"name"`
	Value     string `yaml:"value,omitempty"`
	ValueFrom string `yaml:"valueFrom,omitempty"`
}

type wasmPluginSpec struct {
	Selector   *podSelector `yaml:"selector"`
	Phase      string       `yaml:"phase"`
	wasmConfig `yaml:",inline"`
}

type trafficExtensionSpec struct {
	Selector *podSelector `yaml:"selector"`
	Phase    string       `yaml:"phase"`
	Wasm     wasmConfig   `yaml:"wasm"`
}

type podSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}
