package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"reflect"
	"sync"

	"gridbroker/glue"
)

const codecMagic = "GRIDRES2"

// codecHead is the length of magic, fingerprint and checksum.
const codecHead = len(codecMagic) + 8 + 4

// codecFingerprint is a hash of the names and kinds of all that is packed.
var codecFingerprint = sync.OnceValue(func() uint64 {
	h := fnv.New64a()
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprint(h, t.Kind(), " ")
		switch t.Kind() {
		case reflect.Struct:
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() {
					fmt.Fprint(h, f.Name, " ")
					walk(f.Type)
				}
			}
		case reflect.Slice, reflect.Map:
			walk(t.Elem())
		}
	}
	walk(reflect.TypeFor[glue.Resource]())
	return h.Sum64()
})

// Pack writes resources in the form that Unpack reads.
func Pack(rs []glue.Resource) []byte {
	p := &packer{strings: make(map[string]uint64, len(rs)), shared: map[sharedKey]uint64{}}
	p.buf = append(make([]byte, 0, 384*len(rs)+64), codecMagic...)
	p.buf = binary.LittleEndian.AppendUint64(p.buf, codecFingerprint())
	p.buf = binary.LittleEndian.AppendUint32(p.buf, 0) // checksum
	p.uint(uint64(len(rs)))
	for i := range rs {
		coder{p: p}.resource(&rs[i])
	}
	binary.LittleEndian.PutUint32(p.buf[codecHead-4:], crc32.ChecksumIEEE(p.buf[codecHead:]))
	return p.buf
}

var errPacked = errors.New("not a list of resources of this version")

// Unpack reads what Pack wrote. The resources refer to data's text, which must
// not be changed afterwards.
func Unpack(data []byte) ([]glue.Resource, error) {
	if len(data) < codecHead || string(data[:len(codecMagic)]) != codecMagic ||
		binary.LittleEndian.Uint64(data[len(codecMagic):]) != codecFingerprint() ||
		binary.LittleEndian.Uint32(data[codecHead-4:]) != crc32.ChecksumIEEE(data[codecHead:]) {
		return nil, errPacked
	}
	u := &unpacker{data: data[codecHead:]}
	rs := make([]glue.Resource, u.count(1))
	for i := range rs {
		if (coder{u: u}).resource(&rs[i]); u.bad {
			return nil, errPacked
		}
	}
	glue.Seal(rs)
	return rs, nil
}
