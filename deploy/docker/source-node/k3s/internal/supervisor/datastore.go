package supervisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"openshell.ai/source-node/k3s/internal/bootstrap"
	"openshell.ai/source-node/k3s/internal/identity"
	"openshell.ai/source-node/k3s/internal/pki"
)

const (
	pollInterval     = 50 * time.Millisecond
	datastoreTimeout = 60 * time.Second
)

// startDatastore starts kine and settles the server's identity against what it keeps.
func (s *Supervisor) startDatastore(ctx context.Context) error {
	if err := s.launch(s.settings.Kine(), os.Stderr); err != nil {
		return err
	}
	// The client would wait a second after its first refused connection.
	if err := s.await(ctx, "the datastore", datastoreTimeout, func() error {
		connection, err := net.Dial("unix", s.at.KineSocket())
		if err != nil {
			return err
		}
		return connection.Close()
	}); err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"unix://" + s.at.KineSocket()}, DialTimeout: datastoreTimeout, Logger: quiet(),
	})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := s.settleIdentity(ctx, bootstrap.NewStore(client, s.at.Server())); err != nil {
		return fmt.Errorf("failed to bootstrap cluster data: %w", err)
	}
	return nil
}

// settleIdentity takes the token that was given or kept, brings the authorities back from the
// datastore where they are missing, and makes what is new. A token that was given and is not the
// cluster's ends it before anything is written. A token that had to be made up for a used datastore
// ends it too, but after the new authorities were written: that is what k3s does, and why a product
// must look before it starts k3s.
func (s *Supervisor) settleIdentity(ctx context.Context, store *bootstrap.Store) error {
	token := identity.ShortToken(s.settings.Options.Token)
	kept, err := identity.KeptToken(s.at)
	if err != nil {
		return err
	}
	if token == "" {
		token = kept
	}
	if token != "" {
		if err := store.Restore(ctx, token); err != nil {
			return err
		}
	} else {
		token = identity.NewToken()
	}
	authorities, err := s.ensureAuthorities()
	if err != nil {
		return err
	}
	if err := identity.WriteToken(s.at, pki.CertificatePEM(authorities.server.Certificate), token); err != nil {
		return err
	}
	if err := store.Save(ctx, token); err != nil {
		return err
	}
	if s.password, err = identity.NodePassword(); err != nil {
		return err
	}
	return s.ensureCertificates(authorities)
}
