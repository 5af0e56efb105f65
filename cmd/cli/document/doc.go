// Package document writes values for machines, by one convention, and the JSON Schema of what it writes.
//
// The names of an object's fields are those of the json tags of Go's fields in
// snake_case. What has a unit says it at the end of its name: a time.Duration
// is a number of seconds under a name that ends in _seconds, a field with the
// tag unit:"mb" has a name that ends in _mb. A time.Time is RFC 3339 in UTC; a
// time that is not known is absent, never the year 1. A list without elements
// is [], never null. Options omitempty and omitzero of a json tag mean what
// they mean to encoding/json.
//
// A type with a method Document is written as what that returns; nil is
// absent, and null in a list. A type with a MarshalJSON of its own, but no Document, is
// written as that writes it, and its schema allows anything.
//
// encoding/json cannot do this: it neither renames the fields of types that other
// packages declare (whose tags are those of records and wire forms that must
// stay), nor gives a name its unit, nor leaves out a time that is not known
// inside of them. A copy of each such type for output, of which there are some
// hundred, would have to be kept equal to it by hand. Texts and the values of
// types with a MarshalJSON are written by encoding/json.
package document
