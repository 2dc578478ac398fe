package archivetest

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/axsched/ax"
)

// difference returns the first difference of two values of one type, as "path: got …, want …", or "". It follows pointers.
// A nil slice or map equals an empty one: no contract of ax tells them apart, but for a document's body.
func difference(got, want any) string { return diff("", reflect.ValueOf(got), reflect.ValueOf(want)) }

func diff(path string, got, want reflect.Value) string {
	if !got.IsValid() || !want.IsValid() || got.Type() != want.Type() {
		return fmt.Sprintf("%s: got %v, want %v", path, got, want)
	}
	switch got.Kind() {
	case reflect.Pointer:
		if got.IsNil() != want.IsNil() {
			return fmt.Sprintf("%s: got nil %v, want nil %v", path, got.IsNil(), want.IsNil())
		}
		if got.IsNil() || got.Pointer() == want.Pointer() {
			return ""
		}
		return diff(path, got.Elem(), want.Elem())
	case reflect.Struct:
		for i := range got.NumField() {
			if d := diff(path+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if got.Len() != want.Len() {
			return fmt.Sprintf("%s: got length %d, want %d", path, got.Len(), want.Len())
		}
		if got.Type().Elem().Kind() == reflect.Uint8 {
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				return fmt.Sprintf("%s: got %.80q, want %.80q", path, got.Bytes(), want.Bytes())
			}
			return ""
		}
		for i := range got.Len() {
			if d := diff(fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Map:
		if got.Len() != want.Len() {
			return fmt.Sprintf("%s: got %d keys, want %d", path, got.Len(), want.Len())
		}
		for _, k := range want.MapKeys() {
			if d := diff(fmt.Sprintf("%s[%q]", path, k), got.MapIndex(k), want.MapIndex(k)); d != "" {
				return d
			}
		}
		return ""
	}
	if !got.Equal(want) {
		return fmt.Sprintf("%s: got %v, want %v", path, got, want)
	}
	return ""
}

// filled returns a value with something distinct in every field, whatever fields it has: a field that is added to a
// type is covered from then on. Numbers use all bits of their type, so that one that is kept too narrow shows. Linked
// attempts are three long.
func filled[V any](seed int) V {
	var v V
	n := seed * 1000
	fill(reflect.ValueOf(&v).Elem(), &n, map[reflect.Type]int{})
	return v
}

// linked is how many values of one type hang on one another.
const linked = 3

func fill(v reflect.Value, n *int, depth map[reflect.Type]int) {
	*n++
	if v.Type() == reflect.TypeFor[ax.Time]() { // microseconds, up to the last instant there is
		v.SetInt(int64(ax.MaxTime) - int64(*n)*7)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d \x00\n\"'\\%%;é\u2028 ", v.Type().Name(), *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1<<(v.Type().Bits()-1) - 1 - int64(*n))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		v.SetUint(^uint64(0)>>(64-v.Type().Bits()) - uint64(*n)%199)
	case reflect.Pointer:
		if depth[v.Type()] < linked {
			depth[v.Type()]++
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), n, depth)
			depth[v.Type()]--
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, n, depth)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, "\x00\xff\xfe bytes %d", *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n, depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, n, depth)
			fill(value, n, depth)
			v.SetMapIndex(key, value)
		}
	default:
		panic(fmt.Sprintf("archivetest: no way to fill a %v", v.Type()))
	}
}
