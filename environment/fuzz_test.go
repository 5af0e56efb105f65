package environment

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"
)

// signedFor is a signature as ssh-keygen makes it, over a text that may be any, of a key that the policy knows.
func signedFor(f *testing.F) (armored []byte, p *Policy) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public := append(sshString([]byte("ssh-ed25519")), sshString(key.Public().(ed25519.PublicKey))...)
	made := append(sshString([]byte("ssh-ed25519")), sshString(make([]byte, ed25519.SignatureSize))...)
	raw := []byte("SSHSIG\x00\x00\x00\x01")
	for _, s := range [][]byte{public, []byte(SignatureNamespace), nil, []byte("sha512"), made} {
		raw = append(raw, sshString(s)...)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "SSH SIGNATURE", Bytes: raw}), &Policy{Signers: []Signer{{Key: "ssh-ed25519 " + base64.StdEncoding.EncodeToString(public)}}}
}

// Whatever stands where a signature is to be, it holds for no text that nobody has signed.
func FuzzSignature(f *testing.F) {
	armored, p := signedFor(f)
	f.Add(armored, []byte("tag = \"X\"\n"))
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----\n"), []byte{})
	f.Fuzz(func(t *testing.T, armored, text []byte) {
		err := p.signed(&Definition{Tag: "X", text: text}, armored)
		if _, ok := errors.AsType[*SignatureError](err); !ok {
			t.Errorf("%v: nobody has signed this", err)
		}
	})
}

// A manifest or a configuration of an image leads to layers whose names are digests and whose sizes are bounded, or is refused.
func FuzzManifest(f *testing.F) {
	d := "sha256:" + strings.Repeat("ab", 32)
	f.Add([]byte(`{"config":{"digest":"` + d + `","size":2},"layers":[{"digest":"` + d + `","size":3}]}`))
	f.Add([]byte(`{"manifests":[{"digest":"` + d + `","platform":{"os":"linux","architecture":"amd64"}}]}`))
	f.Add([]byte(`{"rootfs":{"diff_ids":["` + d + `"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		get := func(context.Context, string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		digest := digestOf(text)
		if m, at, err := platformManifest(t.Context(), Blobs{get, get}, digest, "amd64"); err == nil {
			for _, l := range append(m.Layers, m.Config) {
				if at != digest || !validDigest(l.Digest) || l.Size < 0 || l.Size > DefaultBudget.Bytes || strings.Contains(hexOf(l.Digest), "/") {
					t.Errorf("%s, %+v", at, l)
				}
			}
		}
		var c config
		_ = readDocument(t.Context(), get, "configuration", digest, &c)
	})
}

// What process 1 and a machine say, both taken for hostile: frames are of bounded size, and an outcome is one that a job can have.
func FuzzTold(f *testing.F) {
	f.Add([]byte("started\nexit 3\n"))
	f.Add([]byte("started\nmemory\nsignal 9\n"))
	f.Add([]byte("f\x00\x00\x00\x03abcg\x00\x00\x00\x06[\"../x\"]z\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := readOutcome(bytes.NewReader(text), func(word, rest string) error { return nil })
		if err == nil && out.Signal == 0 && out.Cut {
			t.Errorf("%+v", out)
		}
		for r := bytes.NewReader(text); ; {
			kind, body, err := readFrame(r)
			if err != nil {
				return
			}
			if len(body) > maxFrame {
				t.Errorf("a frame of %d bytes", len(body))
			}
			var names []string
			if kind == frameGone && json.Unmarshal(body, &names) == nil {
				for _, name := range names {
					if clean, err := entryName(name); err == nil && (strings.HasPrefix(clean, "/") || strings.HasPrefix(clean, "..")) {
						t.Errorf("%q is taken for %q", name, clean)
					}
				}
			}
		}
	})
}
