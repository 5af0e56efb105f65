package main_test

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gridbroker/credential"
	"gridbroker/testdata/testbed"
)

// forger writes records of TLS 1.3 as no library does: it knows the secret of what its server sends.
type forger struct {
	net.Conn
	secret  []byte
	sealing cipher.AEAD
	iv      []byte
	sent    uint64
	out     bytes.Buffer // what is not sent yet
}

// expand is HKDF-Expand-Label (RFC 8446 section 7.1).
func expand(secret []byte, label string, n int) []byte {
	info := append(binary.BigEndian.AppendUint16(nil, uint16(n)), byte(len("tls13 "+label)))
	out, err := hkdf.Expand(sha256.New, secret, string(append(append(info, "tls13 "+label...), 0)), n)
	if err != nil {
		panic(err)
	}
	return out
}

func (f *forger) key(secret []byte) {
	block, err := aes.NewCipher(expand(secret, "key", 16))
	if err != nil {
		panic(err)
	}
	if f.sealing, err = cipher.NewGCM(block); err != nil {
		panic(err)
	}
	f.secret, f.iv, f.sent = secret, expand(secret, "iv", 12), 0
}

// Kinds of records, and of messages of a handshake.
const (
	recordAlert, recordHandshake, recordData = 21, 22, 23
	messageTicket, messageKeyUpdate          = 4, 24
)

// record sends a record, sooner or later.
func (f *forger) record(kind byte, body []byte) error {
	head := binary.BigEndian.AppendUint16([]byte{recordData, 3, 3}, uint16(len(body)+1+f.sealing.Overhead()))
	nonce := bytes.Clone(f.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(f.sent >> (56 - 8*i))
	}
	f.sent++
	f.out.Write(f.sealing.Seal(head, nonce, append(bytes.Clone(body), kind), head))
	if f.out.Len() < 32<<10 {
		return nil
	}
	_, err := f.Write(f.out.Bytes())
	f.out.Reset()
	return err
}

func (f *forger) message(kind byte, body []byte) error {
	return f.record(recordHandshake, append([]byte{kind, 0, byte(len(body) >> 8), byte(len(body))}, body...))
}

// keyUpdate has the other side take another key, and say that it takes another one itself.
func (f *forger) keyUpdate() error {
	err := f.message(messageKeyUpdate, []byte{1})
	f.key(expand(f.secret, "traffic upd", 32))
	return err
}

// recordTricks say a text without end, byte by byte, and what brings nothing between.
var recordTricks = map[string]func(*forger) error{
	"bytes": func(*forger) error { return nil },
	"tickets": func(f *forger) error {
		ticket := slicesOf(binary.BigEndian.AppendUint32(nil, 3600), make([]byte, 4), []byte{1, 1, 0, 8}, make([]byte, 8), []byte{0, 0})
		for range 15 {
			if err := f.message(messageTicket, ticket); err != nil {
				return err
			}
		}
		return nil
	},
	"keys": func(f *forger) error {
		for range 15 {
			if err := f.keyUpdate(); err != nil {
				return err
			}
		}
		return nil
	},
	"empty records": func(f *forger) error {
		for range 15 {
			if err := f.record(recordData, nil); err != nil {
				return err
			}
		}
		return nil
	},
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// newForger is a server of TLS that forges, once something was said to it.
func newForger(t *testing.T, own tls.Certificate, text func(yield func(string) bool), between func(*forger) error) (address string) {
	t.Helper()
	return testbed.Listen(t, func(raw net.Conn) {
		raw.SetDeadline(time.Now().Add(2 * time.Minute))
		var secrets bytes.Buffer
		c := tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{own}, KeyLogWriter: &secrets, SessionTicketsDisabled: true, MinVersion: tls.VersionTLS13})
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
		if c.ConnectionState().CipherSuite != tls.TLS_AES_128_GCM_SHA256 {
			t.Errorf("cipher suite %x", c.ConnectionState().CipherSuite)
			return
		}
		for line := range strings.Lines(secrets.String()) {
			var client, secret string
			if _, err := fmt.Sscanf(line, "SERVER_TRAFFIC_SECRET_0 %s %s", &client, &secret); err != nil {
				continue
			}
			key, err := hex.DecodeString(secret)
			if err != nil {
				t.Error(err)
				return
			}
			f := &forger{Conn: raw}
			f.key(key)
			go func() { // it may answer what we send
				_, _ = bufio.NewReader(raw).Discard(1 << 40)
			}()
			for part := range text {
				for i := range len(part) {
					err := between(f)
					if err == nil {
						err = f.record(recordData, []byte{part[i]})
					}
					if err != nil {
						return
					}
				}
			}
		}
	})
}

// onAndOn says a beginning, and a part again and again.
func onAndOn(head, part string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for ok := yield(head); ok; ok = yield(part) {
		}
	}
}

// tlsLab is somebody with a proxy who trusts an authority, and what he asks servers of TLS.
type tlsLab struct {
	ca    *testbed.CA
	dir   string
	proxy []byte
}

func newTLSLab(t *testing.T) *tlsLab {
	ca := testbed.NewCA(t, "Lab CA", time.Now(), nil)
	dir := t.TempDir()
	ca.Install(dir, credential.NameHash(ca.Cert.RawSubject), "/DC=org/CN=Lab CA")
	alice := ca.Issue("Alice", nil)
	return &tlsLab{ca, dir, append(testbed.PEM(alice.Cert), testbed.KeyPEM(t, alice.Key)...)}
}

func (l *tlsLab) victim(t *testing.T) *victim {
	v := newVictim(t, "X509_CERT_DIR="+l.dir)
	testbed.WriteFile(t, v.dir+"/proxy", l.proxy, 0o600)
	v.env = append(v.env, "X509_USER_PROXY="+v.dir+"/proxy")
	v.write("job.jdl", `Executable = "/bin/true";`)
	return v
}

// tlsAskers are who speaks TLS, by the arguments that have him ask somebody.
var tlsAskers = map[string]func(v *victim, addr string) []string{
	"information": func(_ *victim, addr string) []string {
		return []string{"resources", "--no-cache", "--info", "https://" + addr + "/arex"}
	},
	"directory": func(_ *victim, addr string) []string {
		return []string{"resources", "--no-cache", "--info", "ldaps://" + addr + "/o=glue"}
	},
	"submission": func(v *victim, addr string) []string {
		v.write("ce.ldif", strings.ReplaceAll(rogueLDIF, "HERE", "https://"+addr+"/arex"))
		return []string{"submit", "--info", "file:ce.ldif", "job.jdl"}
	},
	"scheduler": func(_ *victim, addr string) []string { return []string{"submit", "--via", "grid://" + addr, "job.jdl"} },
	"managers":  func(_ *victim, addr string) []string { return []string{"submit", "--via", "tree://" + addr, "job.jdl"} },
	"doctor":    func(_ *victim, addr string) []string { return []string{"auth", "doctor", "https://" + addr + "/arex"} },
}

// TestTricksOfTLS: a server whose records bring little is in no budget of what they bring, but named and left all the same.
func TestTricksOfTLS(t *testing.T) {
	t.Parallel()
	lab := newTLSLab(t)
	document := onAndOn("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":[", `"`+strings.Repeat("x", 60<<10)+`",`)
	entry := onAndOn(string(ldapMessage(1, ldapDone(0, ""))), string(ldapMessage(2, ldapEntry("o=glue", ldapAttr("GLUE2ShareID", strings.Repeat("x", 60<<10))))))
	for who, ask := range tlsAskers {
		text := document
		if who == "directory" {
			text = entry
		}
		for name, between := range recordTricks {
			t.Run(who+"/"+name, func(t *testing.T) {
				t.Parallel()
				v := lab.victim(t)
				addr := newForger(t, lab.ca.Server(nil), text, between)
				h := v.grid(0, ask(v, addr)...)
				h.errs += h.out // the doctor's findings are there
				v.bounded(h, addr)
			})
		}
	}
}

// tunnel is a proxy of HTTP that lets everybody through to one address.
func tunnel(t *testing.T, to string) (address string) {
	t.Helper()
	return testbed.Listen(t, func(c net.Conn) {
		from := bufio.NewReader(c)
		if _, err := http.ReadRequest(from); err != nil {
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		go io.Copy(there, from)
		io.Copy(c, there)
	})
}

// TestTricksOfTLSElsewhere: where http.Transport agrees on TLS itself, through a proxy too, and over WIKI, no more is read of
// what brings nothing.
func TestTricksOfTLSElsewhere(t *testing.T) {
	t.Parallel()
	lab := newTLSLab(t)
	own := lab.ca.Server(func(c *x509.Certificate) { c.DNSNames = append(c.DNSNames, "ce.example.org") })
	authorities := t.TempDir() + "/ca.pem"
	testbed.WriteFile(t, authorities, testbed.PEM(lab.ca.Cert), 0o644)
	node := t.TempDir() + "/node.json"
	testbed.WriteFile(t, node, fmt.Appendf(nil, `{"definitions": %q, "cache": %q}`, t.TempDir(), t.TempDir()), 0o644)
	document := onAndOn("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", `{"a":"`+strings.Repeat("x", 60<<10)+`"}`)
	for who, ask := range map[string]func(addr string) (named string, env, args []string){
		"image registry": func(addr string) (string, []string, []string) {
			return "registry 127.0.0.1", nil, []string{"env", "import", "docker://" + addr + "/x/y@sha256:" + strings.Repeat("a", 64), "--tag", "T", "--layout", t.TempDir(), "--node", node}
		},
		"behind a proxy": func(addr string) (string, []string, []string) {
			return "ce.example.org", []string{"HTTPS_PROXY=http://" + tunnel(t, addr)}, []string{"resources", "--no-cache", "--deadline", "1m", "--info", "https://ce.example.org/arex"}
		},
		"WIKI": func(addr string) (string, []string, []string) {
			return addr, nil, []string{"resources", "--no-cache", "--info", "wikis://" + addr}
		},
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			text, trick := document, "keys"
			if who == "WIKI" { // where a command has nine seconds
				trick = "tickets"
				text = onAndOn("00900000\n", strings.Repeat("x", 60<<10))
			}
			v := lab.victim(t)
			named, env, args := ask(newForger(t, own, text, recordTricks[trick]))
			v.env = append(v.env, append(env, "SSL_CERT_FILE="+authorities)...)
			h := v.grid(0, args...)
			v.bounded(h, named)
			if !strings.Contains(h.errs, "bring next to nothing") {
				t.Error("it ended for another reason")
			}
		})
	}
}
