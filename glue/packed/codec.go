package packed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"reflect"
	"sync"

	"gridbroker/glue"
)

const codecMagic = "GRIDRES3"

// codecHead is the length of magic and fingerprint, codecEnd that of the
// checksum of what is between.
const (
	codecHead = len(codecMagic) + 8
	codecEnd  = 4
)

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

// Write writes resources in the form that Unpack reads.
func Write(w io.Writer, rs []glue.Resource) error {
	head := binary.LittleEndian.AppendUint64([]byte(codecMagic), codecFingerprint())
	if _, err := w.Write(head); err != nil {
		return err
	}
	p := &packer{w: w, strings: make(map[string]uint64, len(rs)), shared: map[sharedKey]uint64{}}
	p.uint(uint64(len(rs)))
	for i := range rs {
		coder{p: p}.resource(&rs[i])
		if len(p.buf) >= packBuffer {
			p.flush()
		}
	}
	p.flush()
	if p.err == nil {
		_, p.err = w.Write(binary.LittleEndian.AppendUint32(nil, p.sum))
	}
	return p.err
}

var errPacked = errors.New("not a list of resources of this version")

// Unpack reads what Write wrote. The resources refer to data's text, which must
// not be changed afterwards.
func Unpack(data []byte) ([]glue.Resource, error) {
	if len(data) < codecHead+codecEnd || string(data[:len(codecMagic)]) != codecMagic ||
		binary.LittleEndian.Uint64(data[len(codecMagic):]) != codecFingerprint() {
		return nil, errPacked
	}
	body, sum := data[codecHead:len(data)-codecEnd], data[len(data)-codecEnd:]
	if binary.LittleEndian.Uint32(sum) != crc32.ChecksumIEEE(body) {
		return nil, errPacked
	}
	u := &unpacker{data: body}
	rs := make([]glue.Resource, u.count(1))
	for i := range rs {
		if (coder{u: u}).resource(&rs[i]); u.bad {
			return nil, errPacked
		}
	}
	glue.Seal(rs)
	return rs, nil
}
