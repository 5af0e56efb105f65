package wiki

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"gridbroker/credential"
)

// Key is the shared secret: a 32-bit number. It prints as dots.
type Key struct {
	n   uint32
	set bool
}

// NewKey makes a key from its number.
func NewKey(n uint32) Key { return Key{n, true} }

// ParseKey reads a number as C's strtoul with base 0 does: decimal, 0x hex or
// leading-zero octal.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	if len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '7' {
		text = "0o" + text[1:]
	}
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return Key{}, fmt.Errorf("a WIKI key is an unsigned number of 32 bits") // never the text itself
	}
	return NewKey(uint32(n)), nil
}

// keyBytes bounds a key file.
const keyBytes = 256

// ReadKey reads a key file, which must be readable by its owner only.
func ReadKey(path string) (Key, error) {
	text, err := credential.ReadSecret(credential.Env{UID: os.Geteuid()}, path)
	if err != nil {
		return Key{}, err
	}
	if len(text) > keyBytes {
		return Key{}, fmt.Errorf("%s: %d bytes are no key", path, len(text))
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// Set tells whether there is a key; without one messages are not signed.
func (k Key) Set() bool { return k.set }

// String keeps the key out of logs.
func (k Key) String() string { return "..." }

// GoString keeps the key out of logs.
func (k Key) GoString() string { return "..." }

// The constants of the pseudo-DES of "Numerical Recipes", four rounds.
var (
	roundA = [4]uint32{0xcba4e531, 0x537158eb, 0x145cdc3c, 0x0d3fdeb2}
	roundB = [4]uint32{0x12be4590, 0xab54ce58, 0x6954c7a6, 0x15a2ca46}
)

// Sum is the checksum of a text: CRC-16/XMODEM of the bytes, mixed with the
// key in four rounds, as 16 lower-case hex digits.
func (k Key) Sum(text []byte) string {
	l, r := uint32(crc16(text)), k.n
	for i := range roundA {
		a := r ^ roundA[i]
		lo, hi := a&0xffff, a>>16
		b := lo*lo + ^(hi * hi)
		a = b>>16 | b<<16
		l, r = r, l^((a^roundB[i])+lo*hi)
	}
	const digits = "0123456789abcdef"
	var out [16]byte
	for i := range 8 {
		out[i] = digits[l>>(28-4*i)&15]
		out[8+i] = digits[r>>(28-4*i)&15]
	}
	return string(out[:])
}

// crcTable is CRC-16 with polynomial 0x1021, most significant bit first.
var crcTable = func() (table [256]uint16) {
	for i := range table {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		table[i] = c
	}
	return table
}()

func crc16(text []byte) (c uint16) {
	for _, b := range text {
		c = c<<8 ^ crcTable[byte(c>>8)^b]
	}
	return c
}
