package scheduler

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
)

// Seal encrypts what the database keeps of users: credentials and files. It is
// AES-256-GCM; the name of the thing is bound to it, so that rows cannot be
// exchanged.
type Seal struct{ aead cipher.AEAD }

// NewKey makes a key as hexadecimal text.
func NewKey() string {
	var key [32]byte
	rand.Read(key[:])
	return hex.EncodeToString(key[:])
}

// NewSeal reads a key.
func NewSeal(text string) (*Seal, error) {
	key, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(key) != 32 {
		return nil, errors.New("the key is not 64 hexadecimal digits")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &Seal{aead}, err
}

// sealSize is how many bytes sealing adds: what is no longer holds nothing.
const sealSize = 12 + 16

// Close encrypts.
func (s *Seal) Close(name string, plain []byte) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, plain, []byte(name))
}

// Open decrypts.
func (s *Seal) Open(name string, sealed []byte) ([]byte, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return nil, errOtherKey
	}
	text, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(name))
	if err != nil {
		return nil, errOtherKey
	}
	return text, nil
}

var errOtherKey = errors.New("it was encrypted with another key than that of key_file")
