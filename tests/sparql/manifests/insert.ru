PREFIX : <urn:x:>
INSERT DATA { :z :p 1 }
