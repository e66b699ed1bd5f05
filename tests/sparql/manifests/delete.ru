PREFIX : <urn:x:>
DELETE WHERE { :b ?p ?o }
