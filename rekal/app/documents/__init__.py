"""What a person or an agent does with documents: ingest them, ask them, have facts taken from them."""
