// Package credential finds, makes and checks the credentials a grid user has:
// X.509 certificates and RFC 3820 proxies with VOMS attributes, bearer tokens,
// and the certificate authorities to trust. What is wrong with one of them is
// a Finding: what, why, and how to mend it.
//
// About secrets in memory: buffers that hold passphrases and decrypted key
// files are overwritten after use. Parsed private keys live in Go's crypto
// types, and tokens in strings; the runtime may have copied both, and nothing
// can be promised about those copies until the process ends.
package credential
