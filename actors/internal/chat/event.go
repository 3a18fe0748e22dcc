package chat

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/holdfast-dev/holdfast/proto/journal/v1"
)

// An Event is what has happened, as the journal holds it.
type Event = *pb.Event

// kinds maps the name of each event's message to its field in Event.kind.
var kinds = func() map[protoreflect.FullName]protoreflect.FieldDescriptor {
	fields := (&pb.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	byName := make(map[protoreflect.FullName]protoreflect.FieldDescriptor, fields.Len())
	for i := range fields.Len() {
		byName[fields.Get(i).Message().FullName()] = fields.Get(i)
	}
	return byName
}()

// event wraps the message of one kind.
func event(m proto.Message) Event {
	field, ok := kinds[m.ProtoReflect().Descriptor().FullName()]
	if !ok {
		panic(fmt.Sprintf("chat: %T is no event", m))
	}
	e := &pb.Event{}
	e.ProtoReflect().Set(field, protoreflect.ValueOfMessage(m.ProtoReflect()))
	return e
}

// valid makes s fit for the journal, whose strings are UTF-8. Texts of errors and
// what an author writes may hold anything.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
