package glue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// This file packs resources for the cache of answers: what several resources
// share is written once, and reading makes few allocations. The form follows
// Resource's fields; a fingerprint of their names and types stands in front,
// so that another version of the program does not misread it.

const codecMagic = "GRIDRES1"

// exported lists the fields of the structs that are packed.
var exported = exportedFields(reflect.TypeFor[Resource](), map[reflect.Type][]int{})

func exportedFields(t reflect.Type, into map[reflect.Type][]int) map[reflect.Type][]int {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return exportedFields(t.Elem(), into)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				into[t] = append(into[t], i)
				exportedFields(f.Type, into)
			}
		}
	}
	return into
}

var codecFingerprint = fingerprint(reflect.TypeFor[Resource]())

// fingerprint is a hash of the names and kinds of all that is packed.
func fingerprint(t reflect.Type) uint64 {
	h := fnv.New64a()
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprint(h, t.Kind(), " ")
		switch t.Kind() {
		case reflect.Struct:
			for _, i := range exported[t] {
				fmt.Fprint(h, t.Field(i).Name, " ")
				walk(t.Field(i).Type)
			}
		case reflect.Slice, reflect.Map:
			walk(t.Elem())
		}
	}
	walk(t)
	return h.Sum64()
}

// Pack writes resources in the form that Unpack reads.
func Pack(rs []Resource) []byte {
	p := &packer{strings: map[string]uint64{}, shared: map[sharedKey]uint64{}}
	p.buf = append(make([]byte, 0, 256*len(rs)+64), codecMagic...)
	p.buf = binary.LittleEndian.AppendUint64(p.buf, codecFingerprint)
	p.buf = binary.LittleEndian.AppendUint32(p.buf, 0) // checksum
	p.uint(uint64(len(rs)))
	for i := range rs {
		p.value(reflect.ValueOf(&rs[i]).Elem())
	}
	head := len(codecMagic) + 8
	binary.LittleEndian.PutUint32(p.buf[head:], crc32.ChecksumIEEE(p.buf[head+4:]))
	return p.buf
}

type packer struct {
	buf     []byte
	strings map[string]uint64
	shared  map[sharedKey]uint64
}

// sharedKey names a slice or map by where it lies.
type sharedKey struct {
	at  unsafe.Pointer
	len int
	of  reflect.Type
}

func (p *packer) uint(n uint64) { p.buf = binary.AppendUvarint(p.buf, n) }
func (p *packer) int(n int64)   { p.buf = binary.AppendVarint(p.buf, n) }

// value writes what v points to, by its type.
func (p *packer) value(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *string:
		p.text(*x)
	case *ServingState:
		p.text(string(*x))
	case *Opt[int64]:
		p.flag(x.OK)
		p.int(x.V)
	case *Opt[time.Duration]:
		p.flag(x.OK)
		p.int(int64(x.V))
	case *Opt[bool]:
		p.flag(x.OK)
		p.flag(x.V)
	case *bool:
		p.flag(*x)
	case *int64:
		p.int(*x)
	case *time.Duration:
		p.int(int64(*x))
	case *float64:
		p.uint(math.Float64bits(*x))
	case *time.Time:
		if x.IsZero() {
			p.int(0)
		} else {
			p.int(x.UnixNano())
		}
	default:
		if v.Kind() == reflect.Struct {
			for _, i := range exported[v.Type()] {
				p.value(v.Field(i))
			}
			return
		}
		p.container(v)
	}
}

func (p *packer) flag(b bool) {
	if b {
		p.buf = append(p.buf, 1)
		return
	}
	p.buf = append(p.buf, 0)
}

// text writes a string the first time, later its number.
func (p *packer) text(s string) {
	if n, ok := p.strings[s]; ok {
		p.uint(n)
		return
	}
	n := uint64(len(p.strings)) + 1
	p.strings[s] = n
	p.uint(0)
	p.uint(uint64(len(s)))
	p.buf = append(p.buf, s...)
}

// container writes a slice or map the first time, later its number; 0 is nil,
// 1 what follows.
func (p *packer) container(v reflect.Value) {
	if v.IsNil() {
		p.uint(0)
		return
	}
	k := sharedKey{v.UnsafePointer(), v.Len(), v.Type()}
	if n, ok := p.shared[k]; ok && v.Len() > 0 {
		p.uint(n)
		return
	}
	p.uint(1)
	p.uint(uint64(v.Len()))
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			p.value(v.Index(i))
		}
	} else {
		for it := v.MapRange(); it.Next(); {
			p.text(it.Key().String())
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(it.Value())
			p.value(elem)
		}
	}
	p.shared[k] = uint64(len(p.shared)) + 2
}

var errPacked = errors.New("not a list of resources of this version")

// Unpack reads what Pack wrote. The resources refer to data's text, which must
// not be changed afterwards.
func Unpack(data []byte) (rs []Resource, err error) {
	head := len(codecMagic) + 8
	if len(data) < head+4 || string(data[:len(codecMagic)]) != codecMagic ||
		binary.LittleEndian.Uint64(data[len(codecMagic):]) != codecFingerprint ||
		binary.LittleEndian.Uint32(data[head:]) != crc32.ChecksumIEEE(data[head+4:]) {
		return nil, errPacked
	}
	u := &unpacker{data: data[head+4:]}
	n := u.count(1)
	rs = make([]Resource, n)
	for i := range rs {
		u.value(reflect.ValueOf(&rs[i]).Elem())
		if u.bad {
			return nil, errPacked
		}
	}
	sealAll(rs)
	return rs, nil
}

// sealAll makes one tag value for each list that resources share.
func sealAll(rs []Resource) {
	lists := map[*string]*tagList{}
	for i := range rs {
		r := &rs[i]
		if len(r.RuntimeEnvironments) == 0 {
			continue
		}
		at := &r.RuntimeEnvironments[0]
		if lists[at] == nil {
			lists[at] = newTagList(r.RuntimeEnvironments)
		}
		r.tags = lists[at]
	}
}
