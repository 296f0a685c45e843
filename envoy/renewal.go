package envoy

import (
	"path/filepath"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"
)

// The secrets of a bootstrap, each with a file in [Discovery].SecretsFolder. Envoy reads files that a bootstrap itself
// names once, when it starts. It reads the files of a secret again when something is moved into their folder, which is
// how Kubernetes renews a volume.
const (
	caSecret          = "harmony-controlplane-ca"
	certificateSecret = "harmony-controlplane-certificate"
	secretEnding      = ".json"
)

// DiscoverySecrets returns the files that must be in d.SecretsFolder, by their names. Without certificates there are
// none.
func DiscoverySecrets(d Discovery) (map[string][]byte, error) {
	files := map[string][]byte{}
	if d.CAFile == "" {
		return files, nil
	}
	secrets := []*tlsv3.Secret{{Name: caSecret, Type: &tlsv3.Secret_ValidationContext{
		ValidationContext: &tlsv3.CertificateValidationContext{TrustedCa: file(d.CAFile), WatchedDirectory: folder(d.CAFile)},
	}}}
	if d.CertificateFile != "" {
		secrets = append(secrets, &tlsv3.Secret{Name: certificateSecret, Type: &tlsv3.Secret_TlsCertificate{
			TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: file(d.CertificateFile), PrivateKey: file(d.KeyFile),
				WatchedDirectory: folder(d.CertificateFile)},
		}})
	}
	for _, s := range secrets {
		packed, err := anypb.New(s)
		if err != nil {
			return nil, err
		}
		text, err := MarshalJSON(&discoveryv3.DiscoveryResponse{Resources: []*anypb.Any{packed}})
		if err != nil {
			return nil, err
		}
		files[s.GetName()+secretEnding] = text
	}
	return files, nil
}

// addSecrets adds the certificates to what an Envoy has for the control plane: themselves, or where it finds them.
// names are the names that the control plane's certificate must have one of.
func (d *Discovery) addSecrets(c *tlsv3.CommonTlsContext, names []*tlsv3.SubjectAltNameMatcher) {
	check := &tlsv3.CertificateValidationContext{MatchTypedSubjectAltNames: names}
	if d.SecretsFolder == "" {
		check.TrustedCa = file(d.CAFile)
		c.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: check}
		if d.CertificateFile != "" {
			c.TlsCertificates = []*tlsv3.TlsCertificate{{CertificateChain: file(d.CertificateFile), PrivateKey: file(d.KeyFile)}}
		}
		return
	}
	c.ValidationContextType = &tlsv3.CommonTlsContext_CombinedValidationContext{
		CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
			DefaultValidationContext: check, ValidationContextSdsSecretConfig: d.secret(caSecret)}}
	if d.CertificateFile != "" {
		c.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{d.secret(certificateSecret)}
	}
}

// secret returns where Envoy finds a secret.
func (d *Discovery) secret(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{
			Path: filepath.Join(d.SecretsFolder, name+secretEnding)}},
	}}
}

func file(name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

func folder(name string) *corev3.WatchedDirectory {
	return &corev3.WatchedDirectory{Path: filepath.Dir(name)}
}
