package environment

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"gridbroker/durable"
)

// SignatureNamespace is what definitions are signed for: ssh-keygen -Y sign -n grid-environment -f KEY FILE.toml writes
// FILE.toml.sig.
const SignatureNamespace = "grid-environment"

// A Signer is a key whose owner may write definitions: the site's own, or a VO's for its tags.
type Signer struct {
	// Key is an Ed25519 public key as ssh-keygen writes it: "ssh-ed25519 AAAA... comment".
	Key string
	// Tags are patterns of the tags the owner may define, such as "VO-cms-*"; none: any tag.
	Tags []string
}

// A SignatureError is a definition whose signature does not hold.
type SignatureError struct{ File, Why string }

func (e *SignatureError) Error() string { return e.File + ".sig: " + e.Why }

// Allow tells whether the node runs a definition: by its policy and, where the policy has signers, by the definition's
// signature. One that nobody has signed is a user's then, and may be no more than Policy.Check lets a user's be.
func (n *Node) Allow(d *Definition) error {
	if len(n.Policy.Signers) == 0 {
		return n.Policy.Check(d, true)
	}
	text, err := signature(d.File)
	if errors.Is(err, fs.ErrNotExist) {
		return n.Policy.Check(d, false)
	}
	if err == nil {
		err = n.Policy.signed(d, text)
	}
	if err != nil {
		return err
	}
	return n.Policy.Check(d, true)
}

// signature reads the signature of a definition's file.
func signature(file string) ([]byte, error) {
	f, err := durable.Open(file + ".sig")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDefinition+1))
	if err == nil && len(text) > maxDefinition {
		err = &SignatureError{file, "is too large"}
	}
	return text, err
}

// signed checks a signature in OpenSSH's format (PROTOCOL.sshsig) over the definition's text.
func (p *Policy) signed(d *Definition, armored []byte) error {
	deny := func(format string, args ...any) error { return &SignatureError{d.File, fmt.Sprintf(format, args...)} }
	block, _ := pem.Decode(armored)
	if block == nil || block.Type != "SSH SIGNATURE" {
		return deny("is no signature of ssh-keygen -Y sign")
	}
	const magic = "SSHSIG\x00\x00\x00\x01"
	rest, ok := bytes.CutPrefix(block.Bytes, []byte(magic))
	fields, ok2 := sshStrings(rest, 5)
	if !ok || !ok2 {
		return deny("is cut off")
	}
	key, namespace, hash, signature := fields[0], string(fields[1]), string(fields[3]), fields[4]
	if namespace != SignatureNamespace {
		return deny("is for %q, not for %q", namespace, SignatureNamespace)
	}
	var sum []byte
	switch hash {
	case "sha512":
		h := sha512.Sum512(d.text)
		sum = h[:]
	case "sha256":
		h := sha256.Sum256(d.text)
		sum = h[:]
	default:
		return deny("has the unknown digest %q", hash)
	}
	message := append([]byte("SSHSIG"), sshString([]byte(namespace))...)
	message = append(append(append(message, sshString(nil)...), sshString([]byte(hash))...), sshString(sum)...)
	kind, ok := sshStrings(key, 2)
	made, ok2 := sshStrings(signature, 2)
	if !ok || !ok2 || string(kind[0]) != "ssh-ed25519" || string(made[0]) != "ssh-ed25519" || len(kind[1]) != ed25519.PublicKeySize {
		return deny("is not of an Ed25519 key")
	}
	if !ed25519.Verify(kind[1], message, made[1]) {
		return deny("does not hold: the definition was changed after it had been signed")
	}
	return p.signer(d, key)
}

// signer tells whether the owner of a key may define a tag.
func (p *Policy) signer(d *Definition, key []byte) error {
	known := false
	for _, s := range p.Signers {
		words := strings.Fields(s.Key)
		if len(words) < 2 || words[1] != base64.StdEncoding.EncodeToString(key) {
			continue
		}
		if known = true; len(s.Tags) == 0 {
			return nil
		}
		for _, pattern := range s.Tags {
			if ok, err := path.Match(pattern, d.Tag); err == nil && ok {
				return nil
			}
		}
	}
	if known {
		return &SignatureError{d.File, "its signer may not define the tag " + d.Tag}
	}
	return &SignatureError{d.File, "is of a key that is no signer's of this node"}
}

// sshStrings takes n strings of SSH's form (a length of four bytes, and so many) from the beginning of b.
func sshStrings(b []byte, n int) (out [][]byte, ok bool) {
	for range n {
		if len(b) < 4 {
			return nil, false
		}
		size := binary.BigEndian.Uint32(b)
		if uint64(len(b)-4) < uint64(size) {
			return nil, false
		}
		out, b = append(out, b[4:4+size]), b[4+size:]
	}
	return out, true
}

func sshString(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}
