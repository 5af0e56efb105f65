package glue

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
	"unsafe"
)

// unpacker reads what a packer wrote. After bad is set it gives zeros.
type unpacker struct {
	data    []byte
	strings []string
	shared  []reflect.Value
	bad     bool
}

func (u *unpacker) uint() uint64 {
	n, size := binary.Uvarint(u.data)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.data = u.data[size:]
	return n
}

func (u *unpacker) int() int64 {
	n, size := binary.Varint(u.data)
	if size <= 0 {
		u.bad = true
		return 0
	}
	u.data = u.data[size:]
	return n
}

// count reads a number of things of at least size bytes each.
func (u *unpacker) count(size int) int {
	n := u.uint()
	if n > uint64(len(u.data)/size) {
		u.bad = true
		return 0
	}
	return int(n)
}

func (u *unpacker) flag() bool {
	if len(u.data) == 0 {
		u.bad = true
		return false
	}
	b := u.data[0]
	u.data = u.data[1:]
	return b == 1
}

// value sets what v points to.
func (u *unpacker) value(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *string:
		*x = u.text()
	case *ServingState:
		*x = ServingState(u.text())
	case *Opt[int64]:
		x.OK, x.V = u.flag(), u.int()
	case *Opt[time.Duration]:
		x.OK, x.V = u.flag(), time.Duration(u.int())
	case *Opt[bool]:
		x.OK, x.V = u.flag(), u.flag()
	case *bool:
		*x = u.flag()
	case *int64:
		*x = u.int()
	case *time.Duration:
		*x = time.Duration(u.int())
	case *float64:
		*x = math.Float64frombits(u.uint())
	case *time.Time:
		if n := u.int(); n != 0 {
			*x = time.Unix(0, n).UTC()
		}
	default:
		if v.Kind() == reflect.Struct {
			for _, i := range exported[v.Type()] {
				u.value(v.Field(i))
			}
			return
		}
		u.container(v)
	}
}

// text returns a string that lies in the data itself.
func (u *unpacker) text() string {
	if n := u.uint(); n > 0 {
		if n > uint64(len(u.strings)) {
			u.bad = true
			return ""
		}
		return u.strings[n-1]
	}
	n := u.count(1)
	s := unsafe.String(unsafe.SliceData(u.data), n)
	u.data = u.data[n:]
	u.strings = append(u.strings, s)
	return s
}

func (u *unpacker) container(v reflect.Value) {
	switch n := u.uint(); {
	case n == 0:
		return
	case n > 1:
		if n-2 >= uint64(len(u.shared)) || u.shared[n-2].Type() != v.Type() {
			u.bad = true
			return
		}
		v.Set(u.shared[n-2])
		return
	}
	n := u.count(1)
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n && !u.bad; i++ {
			u.value(v.Index(i))
		}
	} else {
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		for i := 0; i < n && !u.bad; i++ {
			key, elem := reflect.ValueOf(u.text()), reflect.New(v.Type().Elem()).Elem()
			u.value(elem)
			v.SetMapIndex(key, elem)
		}
	}
	u.shared = append(u.shared, reflect.ValueOf(v.Interface()))
}
