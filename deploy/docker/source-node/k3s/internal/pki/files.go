package pki

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// EnsureAuthority returns the authority at base.crt and base.key, made now if neither exists.
func EnsureAuthority(base, name string) (*Pair, error) {
	pair, err := Load(base)
	if !errors.Is(err, fs.ErrNotExist) {
		return pair, err
	}
	if pair, err = newAuthority(name, time.Now()); err != nil {
		return nil, err
	}
	return pair, store(base, pair, nil)
}

// EnsureLeaf returns the certificate at base.crt and base.key, made anew unless the one there still
// fits. The file holds the authority's certificate too, as serving certificates of k3s do.
func EnsureLeaf(base string, authority *Pair, request Request) (*Pair, error) {
	now := time.Now()
	if pair, err := Load(base); err == nil && fits(pair, authority, request, now) {
		return pair, nil
	}
	pair, err := newLeaf(authority, request, now)
	if err != nil {
		return nil, err
	}
	return pair, store(base, pair, authority)
}

// EnsureServiceKey makes the key that signs service account tokens unless it exists.
func EnsureServiceKey(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	pair, err := newAuthority("service", time.Now())
	if err != nil {
		return err
	}
	return writeKey(path, pair)
}

// Load reads base.crt and base.key.
func Load(base string) (*Pair, error) {
	certificate, err := readPEM(base + ".crt")
	if err != nil {
		return nil, err
	}
	key, err := readPEM(base + ".key")
	if err != nil {
		return nil, err
	}
	pair := &Pair{}
	if pair.Certificate, err = x509.ParseCertificate(certificate); err != nil {
		return nil, fmt.Errorf("%s.crt: %w", base, err)
	}
	if pair.Key, err = x509.ParseECPrivateKey(key); err != nil {
		return nil, fmt.Errorf("%s.key: %w", base, err)
	}
	return pair, nil
}

func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}

func store(base string, pair, authority *Pair) error {
	if err := writeKey(base+".key", pair); err != nil {
		return err
	}
	content := CertificatePEM(pair.Certificate)
	if authority != nil {
		content = append(content, CertificatePEM(authority.Certificate)...)
	}
	return os.WriteFile(base+".crt", content, 0o644)
}

func writeKey(path string, pair *Pair) error {
	content, err := pair.KeyPEM()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// KeyPEM encodes the key in the form that Kubernetes reads token signing keys in too.
func (p *Pair) KeyPEM() ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(p.Key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw}), nil
}

// CertificatePEM encodes a certificate.
func CertificatePEM(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
