package bootstrap

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrOtherToken is k3s's answer to a token that is not the one the cluster was made with.
var ErrOtherToken = errors.New("bootstrap data already found and encrypted with different token")

// Store is the bootstrap data in the datastore.
type Store struct {
	client *clientv3.Client
	server string
}

// NewStore returns the bootstrap data of the server folder, behind an open datastore client.
func NewStore(client *clientv3.Client, server string) *Store {
	return &Store{client: client, server: server}
}

// Restore brings the disk in line with what the datastore keeps under the token. With nothing kept
// it does nothing; with something kept under another token it returns ErrOtherToken and has changed
// nothing.
func (s *Store) Restore(ctx context.Context, token string) error {
	found, err := s.client.Get(ctx, keyPrefix, clientv3.WithPrefix())
	if err != nil || len(found.Kvs) == 0 {
		return err
	}
	for _, pair := range found.Kvs {
		if string(pair.Key) != storageKey(token) {
			continue
		}
		kept, err := decrypt(token, pair.Value)
		if err != nil {
			return err
		}
		return restore(s.server, kept)
	}
	return ErrOtherToken
}

// Save puts the disk's files into the datastore unless it keeps some already. Data under another
// token gives ErrOtherToken: the authorities now on disk are not the cluster's.
func (s *Store) Save(ctx context.Context, token string) error {
	found, err := s.client.Get(ctx, keyPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	key := storageKey(token)
	for _, pair := range found.Kvs {
		if string(pair.Key) == key {
			return nil
		}
	}
	if len(found.Kvs) > 0 {
		return ErrOtherToken
	}
	kept, err := read(s.server)
	if err != nil {
		return err
	}
	sealed, err := encrypt(token, kept)
	if err != nil {
		return err
	}
	// A transaction, since kine serves no bare put of a key that the API server does not own.
	_, err = s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, string(sealed))).
		Commit()
	return err
}
