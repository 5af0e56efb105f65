package credential

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookAgain is how seldom it is looked whether the files of a KeyPair are others.
const lookAgain = time.Second

// KeyPair reads a daemon's certificate and its private key, a file that ReadSecret
// takes. What it returns is the pair for a handshake: where the files have been
// written anew since, that of now. New files that cannot be used, or do not go together, are
// told once, and the pair before them is shown until they can.
func KeyPair(env Env, certFile, keyFile string, tell func(error)) (own func() *tls.Certificate, err error) {
	k := &keyPair{env: env, cert: certFile, key: keyFile, tell: tell, looked: env.now(), was: look(certFile, keyFile)}
	if k.pair, err = k.read(); err != nil {
		return nil, err
	}
	return k.current, nil
}

// keyPair is a pair as it was read last.
type keyPair struct {
	env       Env
	cert, key string
	tell      func(error)
	mu        sync.Mutex
	pair      *tls.Certificate
	looked    time.Time
	was       [2]os.FileInfo
	doubtful  bool // the files could not be used, and may have been seen half written
	told      bool
}

// look is what files are found to be, nil where there is none: by that one sees that they were written anew.
func look(files ...string) (list [2]os.FileInfo) {
	for i, name := range files {
		list[i], _ = os.Stat(name)
	}
	return list
}

// same tells whether a file is as it was.
func same(is, was os.FileInfo) bool {
	if is == nil || was == nil {
		return is == was
	}
	return os.SameFile(is, was) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime())
}

func (k *keyPair) current() *tls.Certificate {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.env.now()
	if now.Sub(k.looked).Abs() < lookAgain {
		return k.pair
	}
	k.looked = now
	is := look(k.cert, k.key)
	changed := !same(is[0], k.was[0]) || !same(is[1], k.was[1])
	if !changed && !k.doubtful {
		return k.pair
	}
	pair, err := k.read()
	switch {
	case err == nil:
		k.pair, k.told = pair, false
	case !changed && !k.told:
		k.told = true
		k.tell(fmt.Errorf("the new certificate cannot be used, the one before it is still shown: %w", err))
	}
	k.was, k.doubtful = is, err != nil
	return k.pair
}

func (k *keyPair) read() (*tls.Certificate, error) {
	cert, err := readPublic("file", "the certificate", k.cert)
	if err != nil {
		return nil, err
	}
	key, err := ReadSecret(k.env, k.key)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", k.cert, k.key, err)
	}
	return &pair, nil
}
