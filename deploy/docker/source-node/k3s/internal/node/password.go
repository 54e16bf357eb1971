package node

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/crypto/scrypt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	secretType  = corev1.SecretType("k3s.cattle.io/node-password")
	hashKey     = "hash"
	eventReason = "NodePasswordValidationFailed"
	// rejectInterval is how long the old mode waits before it asks again.
	rejectInterval = 5 * time.Second
	nodeInterval   = 200 * time.Millisecond
)

// ErrHashMismatch is the finding that the node's password is not the one the cluster knows.
var ErrHashMismatch = errors.New("hash does not match")

// SecretName returns the name of the Secret that holds the hash of the node's password.
func SecretName(node string) string { return node + ".node-password.k3s" }

// hash returns the salted scrypt hash of a password.
func hash(password string, salt []byte) (string, error) {
	derived, err := scrypt.Key([]byte(password), salt, 1<<15, 8, 1, 64)
	if err != nil {
		return "", err
	}
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("$1:%s:15:8:1:%s", encode(salt), encode(derived)), nil
}

// verify compares a password with a stored hash.
func verify(password, stored string) error {
	fields := strings.Split(stored, ":")
	if len(fields) < 2 {
		return ErrHashMismatch
	}
	salt, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return ErrHashMismatch
	}
	computed, err := hash(password, salt)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(computed), []byte(stored)) != 1 {
		return ErrHashMismatch
	}
	return nil
}

// CheckPassword compares the password with the node's Secret. Without one it returns nil.
func CheckPassword(ctx context.Context, client kubernetes.Interface, name, password string) error {
	secret, err := client.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, SecretName(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return verify(password, string(secret.Data[hashKey]))
}

// AwaitPassword is the old mode (before 1.33): a mismatch keeps the agent waiting for as long as it
// lasts, and the node does not join.
func AwaitPassword(ctx context.Context, client kubernetes.Interface, name, password string) error {
	for {
		err := CheckPassword(ctx, client, name, password)
		if !errors.Is(err, ErrHashMismatch) {
			return err
		}
		logrus.Infof("Waiting to retrieve agent configuration; server is not ready: Node password " +
			"rejected, duplicate hostname or contents of '/etc/rancher/node/password' may not match " +
			"server node-passwd entry, try enabling a unique node name with the --with-node-id flag")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rejectInterval):
		}
	}
}

// KeepPassword waits for the Node, then checks the password in the background as current k3s does:
// a mismatch is told by an event and nothing else, and a missing Secret is made. falseAlarm makes it
// record the event that affected versions record although nothing is wrong.
func KeepPassword(
	ctx context.Context, client kubernetes.Interface, name, password string, falseAlarm bool,
) error {
	node, err := awaitNode(ctx, client, name)
	if err != nil {
		return err
	}
	if falseAlarm {
		if err := warn(ctx, client, node, fmt.Sprintf("secrets %q already exists", SecretName(name))); err != nil {
			return err
		}
	}
	err = CheckPassword(ctx, client, name, password)
	if errors.Is(err, ErrHashMismatch) {
		return warn(ctx, client, node, err.Error())
	}
	if err != nil {
		return err
	}
	return ensureSecret(ctx, client, node, password)
}

func awaitNode(ctx context.Context, client kubernetes.Interface, name string) (*corev1.Node, error) {
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return node, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(nodeInterval):
		}
	}
}

func ensureSecret(
	ctx context.Context, client kubernetes.Interface, node *corev1.Node, password string,
) error {
	salt := make([]byte, 8)
	_, _ = rand.Read(salt) // never fails: crypto/rand ends the program instead
	hashed, err := hash(password, salt)
	if err != nil {
		return err
	}
	immutable := true
	_, err = client.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: SecretName(node.Name), OwnerReferences: []metav1.OwnerReference{ownerOf(node)},
		},
		Type: secretType, Immutable: &immutable, Data: map[string][]byte{hashKey: []byte(hashed)},
	}, metav1.CreateOptions{FieldManager: manager})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// warn records the event that k3s records when it cannot confirm the password.
func warn(ctx context.Context, client kubernetes.Interface, node *corev1.Node, cause string) error {
	message := "Deferred node password secret validation failed: unable to verify password for node " +
		node.Name + ": " + cause
	logrus.Warn(message)
	now := metav1.Now()
	_, err := client.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: node.Name + "."},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID,
		},
		Type: corev1.EventTypeWarning, Reason: eventReason, Message: message,
		Source: corev1.EventSource{Component: "k3s-supervisor"}, FirstTimestamp: now, LastTimestamp: now,
		Count: 1,
	}, metav1.CreateOptions{FieldManager: manager})
	return err
}
